import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { environmentBytes, environmentText } from '../../src/config/env-bytes.ts';

describe('environmentText and environmentBytes', () => {
  it('give any bytes back', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 24 }), (bytes) => {
        expect(environmentBytes(environmentText(bytes))).toEqual(new Uint8Array(bytes));
      }),
    );
  });

  it('read text as what it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const bytes = new TextEncoder().encode(text);
        expect(environmentText(bytes)).toBe(text);
        expect(environmentBytes(text)).toEqual(bytes);
      }),
    );
  });

  it.each([
    ['a continuation alone', [0x61, 0x80], 'a\udc80'],
    ['an overlong slash', [0xc0, 0xaf], '\udcc0\udcaf'],
    ['a surrogate in UTF-8', [0xed, 0xa0, 0x80], '\udced\udca0\udc80'],
    ['what is cut short', [0xe2, 0x82, 0x61], '\udce2\udc82a'],
  ])('keep %s apart from text', (_what, bytes, text) => {
    expect(environmentText(Uint8Array.from(bytes))).toBe(text);
  });
});
