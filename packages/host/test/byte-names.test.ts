import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytesOfText, textOfBytes } from '../src/byte-names.ts';

const EDGES = '\0\x7f\x80\u07ff\u0800\ud7ff\ue000\uffff\u{10000}\u{10ffff}';
const bytesBeside = (text: string): number[] => [0xff, ...Buffer.from(text), 0x80];

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
    ['what is cut short at the end', [0xf0, 0x9f, 0x98], '\udcf0\udc9f\udc98'],
    ['an overlong character of three bytes', [0xe0, 0x9f, 0xbf], '\udce0\udc9f\udcbf'],
    ['an overlong character of four bytes', [0xf0, 0x8f, 0xbf, 0xbf], '\udcf0\udc8f\udcbf\udcbf'],
    ['more than there is of Unicode', [0xf4, 0x90, 0x80, 0x80], '\udcf4\udc90\udc80\udc80'],
    ['bytes that begin nothing', [0xc1, 0x80, 0xf5, 0x80, 0xff], '\udcc1\udc80\udcf5\udc80\udcff'],
    ['a byte beside the first and the last characters of each size', bytesBeside(EDGES), `\udcff${EDGES}\udc80`],
  ])('keep %s apart from text', (_what, bytes, text) => {
    expect(textOfBytes(Uint8Array.from(bytes))).toBe(text);
    expect(bytesOfText(text)).toEqual(Uint8Array.from(bytes));
  });

  it('write half of a character as one that is not known, and a whole one before a byte as itself', () => {
    expect(textOfBytes(bytesOfText('\ud800a\udc00\udcff\ud83d\ude80\udc80'))).toBe('\ufffda\ufffd\udcff🚀\udc80');
  });

  // One by one they would take longer than a test may, or be more than there is of the stack.
  it('W3: read and write what is no text as quickly as any, however long it is', () => {
    const bytes = Buffer.concat([Buffer.alloc(2 ** 23, 0xff), Buffer.from('é'.repeat(2 ** 23))]);
    const text = textOfBytes(bytes);
    expect(text.length).toBe(2 ** 24);
    expect(Buffer.compare(bytesOfText(text), bytes)).toBe(0);
  });
});
