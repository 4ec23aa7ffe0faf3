import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytesOfText, textOfBytes } from '../src/byte-names.ts';

const EDGES = '\0\x7f\x80\u07ff\u0800\ud7ff\ue000\uffff\u{10000}\u{10ffff}';
const bytesBeside = (text: string): number[] => [0xff, ...Buffer.from(text), 0x80];

describe('textOfBytes and bytesOfText', () => {
  it('bytesOfText(textOfBytes(bytes)) returns the same bytes for any file name', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 24 }), (bytes) => {
        expect(bytesOfText(textOfBytes(bytes))).toEqual(new Uint8Array(bytes));
      }),
    );
  });

  it('textOfBytes reads valid UTF-8 as ordinary text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const bytes = new TextEncoder().encode(text);
        expect(textOfBytes(bytes)).toBe(text);
        expect(bytesOfText(text)).toEqual(bytes);
      }),
    );
  });

  it.each([
    ['a lone continuation byte', [0x61, 0x80], 'a\udc80'],
    ['an overlong slash', [0xc0, 0xaf], '\udcc0\udcaf'],
    ['a surrogate in UTF-8', [0xed, 0xa0, 0x80], '\udced\udca0\udc80'],
    ['a truncated character', [0xe2, 0x82, 0x61], '\udce2\udc82a'],
    ['a truncated character at the end', [0xf0, 0x9f, 0x98], '\udcf0\udc9f\udc98'],
    ['an overlong character of three bytes', [0xe0, 0x9f, 0xbf], '\udce0\udc9f\udcbf'],
    ['an overlong character of four bytes', [0xf0, 0x8f, 0xbf, 0xbf], '\udcf0\udc8f\udcbf\udcbf'],
    ["a code point above Unicode's range", [0xf4, 0x90, 0x80, 0x80], '\udcf4\udc90\udc80\udc80'],
    ['bytes that start no character', [0xc1, 0x80, 0xf5, 0x80, 0xff], '\udcc1\udc80\udcf5\udc80\udcff'],
    [
      'invalid bytes next to the smallest and largest characters of each length',
      bytesBeside(EDGES),
      `\udcff${EDGES}\udc80`,
    ],
  ])('textOfBytes represents %s by surrogates, so that the same bytes can be restored', (_what, bytes, text) => {
    expect(textOfBytes(Uint8Array.from(bytes))).toBe(text);
    expect(bytesOfText(text)).toEqual(Uint8Array.from(bytes));
  });

  it('bytesOfText writes a lone surrogate as U+FFFD, and a surrogate pair before an invalid byte as its character', () => {
    expect(textOfBytes(bytesOfText('\ud800a\udc00\udcff\ud83d\ude80\udc80'))).toBe('\ufffda\ufffd\udcff🚀\udc80');
  });

  // A conversion byte by byte would exceed the test's timeout, or overflow the stack.
  it('W3: converting a long name of invalid bytes takes linear time', () => {
    const bytes = Buffer.concat([Buffer.alloc(2 ** 23, 0xff), Buffer.from('é'.repeat(2 ** 23))]);
    const text = textOfBytes(bytes);
    expect(text.length).toBe(2 ** 24);
    expect(Buffer.compare(bytesOfText(text), bytes)).toBe(0);
  });
});
