import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { differences, type Json, leavesOf } from '../src/differences.ts';

describe('differences', () => {
  test.each<[go: Json, ours: Json, paths: string[]]>([
    [{ a: 1 }, { a: 1 }, []],
    [{ a: 1 }, { a: 2 }, ['a']],
    [{ a: 1 }, {}, ['a']],
    [{}, { a: { b: 1 } }, ['a']],
    [{ a: { b: 1, c: 2 } }, { a: { b: 2, d: 3 } }, ['a.b', 'a.c', 'a.d']],
    [{ a: [1, 2] }, { a: [1, 3, 4] }, ['a.1', 'a.2']],
    [{ a: [] }, { a: {} }, ['a']],
    [{ a: null }, { a: 'null' }, ['a']],
    [{ constructor: 1 }, {}, ['constructor']],
  ])('differences of %j and %j are at %j', (go, ours, paths) => {
    expect(differences(go, ours).map(({ path }) => path)).toEqual(paths);
    expect(
      differences(ours, go)
        .map(({ path }) => path)
        .toSorted(),
    ).toEqual(paths);
  });

  test('differences are empty for any document and its copy', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const document = JSON.parse(JSON.stringify(value)) as Json;
        expect(differences(document, structuredClone(document))).toEqual([]);
        expect(leavesOf(document)).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});

test.each<[document: Json, leaves: number]>([
  [1, 1],
  [null, 1],
  [{}, 0],
  [{ a: [1, { b: 2, c: null }], d: 'x' }, 4],
])('leavesOf(%j) is %i', (document, leaves) => expect(leavesOf(document)).toBe(leaves));
