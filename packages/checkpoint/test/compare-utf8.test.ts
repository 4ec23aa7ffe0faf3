import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareUtf8 } from '../src/index.ts';

test.each([
  ['a', 'b', -1],
  ['a', 'ab', -1],
  ['', '', 0],
  // U+E000 comes before U+10000 in UTF-8, and after its surrogates in UTF-16.
  ['\ue000', '\u{10000}', -1],
  ['x\u{1f600}', 'x\u{1f600}', 0],
])('compareUtf8 of %j and %j has the sign %d', (a, b, expected) => {
  expect(Math.sign(compareUtf8(a, b))).toBe(expected);
  expect(Math.sign(compareUtf8(b, a))).toBe(0 - expected || 0);
});

test('compareUtf8 sorts like the bytes of UTF-8', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '\u07ff', '\ud7ff', '\ue000', '\uffff', '\u{10000}') });
  fc.assert(
    fc.property(text, text, (a, b) => {
      expect(Math.sign(compareUtf8(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
  );
});
