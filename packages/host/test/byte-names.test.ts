import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytesOfText, textOfBytes } from '../src/byte-names.ts';

describe('textOfBytes and bytesOfText', () => {
  it('give any bytes back', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 24 }), (bytes) => {
        expect(bytesOfText(textOfBytes(bytes))).toEqual(new Uint8Array(bytes));
      }),
    );
  });

  it('read text as what it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const bytes = new TextEncoder().encode(text);
        expect(textOfBytes(bytes)).toBe(text);
        expect(bytesOfText(text)).toEqual(bytes);
      }),
    );
  });

  it.each([
    ['a continuation alone', [0x61, 0x80], 'a\udc80'],
    ['an overlong slash', [0xc0, 0xaf], '\udcc0\udcaf'],
    ['a surrogate in UTF-8', [0xed, 0xa0, 0x80], '\udced\udca0\udc80'],
    ['what is cut short', [0xe2, 0x82, 0x61], '\udce2\udc82a'],
  ])('keep %s apart from text', (_what, bytes, text) => {
    expect(textOfBytes(Uint8Array.from(bytes))).toBe(text);
  });
});
