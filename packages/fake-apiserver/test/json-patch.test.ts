import { describe, expect, test } from 'vitest';
import { applyJsonPatch, PatchProblem } from '../src/patch/json-patch.ts';

describe('JSON patch', () => {
  test.each([
    ['adds into a list', { a: [1, 3] }, [{ op: 'add', path: '/a/1', value: 2 }], { a: [1, 2, 3] }],
    ['adds at the end of a list', { a: [1] }, [{ op: 'add', path: '/a/-', value: 2 }], { a: [1, 2] }],
    ['replaces an item', { a: [1, 2] }, [{ op: 'replace', path: '/a/0', value: 0 }], { a: [0, 2] }],
    ['removes an item', { a: [1, 2] }, [{ op: 'remove', path: '/a/0' }], { a: [2] }],
    ['moves a field', { a: { b: 1 } }, [{ op: 'move', from: '/a/b', path: '/c' }], { a: {}, c: 1 }],
    [
      'copies a field without sharing its value',
      { a: {} },
      [
        { op: 'copy', from: '/a', path: '/b' },
        { op: 'add', path: '/b/c', value: 1 },
      ],
      { a: {}, b: { c: 1 } },
    ],
    [
      'decodes escapes in paths',
      { 'a/b': 1, '~': 2 },
      [
        { op: 'remove', path: '/a~1b' },
        { op: 'remove', path: '/~0' },
      ],
      {},
    ],
    [
      'tests objects regardless of the order of fields',
      { a: { x: 1, y: 2 } },
      [{ op: 'test', path: '/a', value: { y: 2, x: 1 } }],
      { a: { x: 1, y: 2 } },
    ],
    ['replaces the whole document', { a: 1 }, [{ op: 'replace', path: '', value: { b: 2 } }], { b: 2 }],
    [
      'handles __proto__ like any other field name',
      {},
      [{ op: 'add', path: '/__proto__', value: 1 }],
      JSON.parse('{"__proto__":1}'),
    ],
  ])('a JSON patch %s', (_name, document, patch, expected) => {
    expect(applyJsonPatch(structuredClone(document), patch)).toEqual(expected);
  });

  test.each([
    ['a path that does not exist', [{ op: 'remove', path: '/no' }]],
    ['an index beyond the end', [{ op: 'add', path: '/a/3', value: 1 }]],
    ['an index with a leading zero', [{ op: 'replace', path: '/a/01', value: 1 }]],
    ['a failed test', [{ op: 'test', path: '/a/0', value: 9 }]],
    ['an unknown operation', [{ op: 'improve', path: '/a' }]],
    ['a path that is not a JSON pointer', [{ op: 'remove', path: 'a' }]],
  ])('applyJsonPatch rejects %s', (_name, patch) => {
    expect(() => applyJsonPatch({ a: [1, 2] }, patch)).toThrow(PatchProblem);
  });
});
