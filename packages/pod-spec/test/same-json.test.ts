import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sameJson } from '../src/index.ts';

/** A JSON value and another one that often equals it or nearly equals it. */
const pairs = fc
  .jsonValue({ maxDepth: 4 })
  .chain((value) =>
    fc.tuple(
      fc.constant(value),
      fc.oneof(fc.constant(structuredClone(value)), fc.constant(changed(value)), fc.jsonValue({ maxDepth: 2 })),
    ),
  );

/** Returns a copy with one more key or item in the innermost first value. */
function changed(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? [null] : [changed(value[0]), ...value.slice(1)];
  if (typeof value !== 'object' || value === null) return { [String(value)]: value };
  const [first, ...others] = Object.entries(value);
  return first === undefined ? { a: 1 } : Object.fromEntries([[first[0], changed(first[1])], ...others]);
}

test('sameJson finds two JSON values equal exactly if isDeepStrictEqual of Node.js does', () => {
  fc.assert(
    fc.property(pairs, ([one, other]) => {
      // JSON has no negative zero, so the generated values must not contain it either.
      const [first, second] = [withoutNegativeZero(one), withoutNegativeZero(other)];
      expect(sameJson(first, second)).toBe(isDeepStrictEqual(first, second));
      expect(sameJson(second, first)).toBe(isDeepStrictEqual(second, first));
    }),
  );
});

test.each([
  ['keys in another order', { a: 1, b: [2] }, { b: [2], a: 1 }, true],
  ['an undefined and an absent field', { a: undefined }, {}, false],
  ['an undefined and another absent field', { a: undefined }, { b: undefined }, false],
  ['a list and an object with the same keys', ['x'], { 0: 'x' }, false],
  ['null and an object', null, {}, false],
  ['lists of different lengths', [1], [1, 2], false],
  ['a field of the prototype', JSON.parse('{"__proto__":{}}'), {}, false],
  ['a field of the prototype and another field', JSON.parse('{"__proto__":{}}'), { a: {} }, false],
])('sameJson returns $3 for %s', (_, one, other, same) => {
  expect(sameJson(one, other)).toBe(same);
  expect(sameJson(other, one)).toBe(same);
});

function withoutNegativeZero(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
