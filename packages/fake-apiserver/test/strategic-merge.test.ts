import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PatchProblem } from '../src/patch/json-patch.ts';
import { applyStrategicMerge } from '../src/patch/strategic-merge.ts';

const containers = (...items: object[]): { spec: { containers: object[] } } => ({ spec: { containers: items } });

describe('strategic merge', () => {
  test.each([
    [
      'items merge by their key, and new items of the patch come first',
      containers({ name: 'a', image: '1' }, { name: 'b', image: '1' }),
      containers({ name: 'c', image: '2' }, { name: 'b', image: '2' }),
      containers({ name: 'c', image: '2' }, { name: 'a', image: '1' }, { name: 'b', image: '2' }),
    ],
    [
      'lists inside merged items merge too',
      containers({
        name: 'a',
        env: [
          { name: 'X', value: '1' },
          { name: 'Y', value: '1' },
        ],
      }),
      containers({ name: 'a', env: [{ name: 'Y', value: '2' }] }),
      containers({
        name: 'a',
        env: [
          { name: 'X', value: '1' },
          { name: 'Y', value: '2' },
        ],
      }),
    ],
    [
      'a list without a key is replaced',
      containers({ name: 'a', args: ['1', '2'] }),
      containers({ name: 'a', args: ['3'] }),
      containers({ name: 'a', args: ['3'] }),
    ],
    [
      'volumes keep only the source that $retainKeys lists',
      { spec: { volumes: [{ name: 'v', emptyDir: {} }] } },
      { spec: { volumes: [{ $retainKeys: ['name', 'hostPath'], name: 'v', hostPath: { path: '/x' } }] } },
      { spec: { volumes: [{ name: 'v', hostPath: { path: '/x' } }] } },
    ],
    [
      'null deletes a field and never adds one',
      { spec: { hostname: 'a', nodeName: 'n' } },
      { spec: { hostname: null, subdomain: null } },
      { spec: { nodeName: 'n' } },
    ],
    [
      '$patch delete of a map empties it',
      { metadata: { labels: { a: '1' } } },
      { metadata: { labels: { $patch: 'delete' } } },
      { metadata: { labels: {} } },
    ],
    [
      'directives and nulls for absent items leave no trace in the result',
      { spec: {} },
      {
        spec: {
          containers: [
            { $patch: 'delete', name: 'a' },
            { name: 'b', image: null },
          ],
        },
      },
      containers({ name: 'b' }),
    ],
    [
      '$setElementOrder keeps the position of items that only the server has',
      containers({ name: 'a' }, { name: 'server' }, { name: 'b' }),
      {
        spec: {
          '$setElementOrder/containers': [{ name: 'a' }, { name: 'b' }],
          containers: [{ name: 'b', image: '2' }],
        },
      },
      containers({ name: 'a' }, { name: 'server' }, { name: 'b', image: '2' }),
    ],
    [
      '$deleteFromPrimitiveList is ignored if it is not a list',
      { metadata: { finalizers: ['a'] } },
      { metadata: { '$deleteFromPrimitiveList/finalizers': 'a' } },
      { metadata: { finalizers: ['a'] } },
    ],
    [
      '$setElementOrder without changes reorders the list',
      containers({ name: 'a' }, { name: 'b' }),
      { spec: { '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }] } },
      containers({ name: 'b' }, { name: 'a' }),
    ],
  ])('in a strategic merge patch, %s', (_name, original, patch, expected) => {
    const before = structuredClone(original);
    expect(applyStrategicMerge(original, patch, 'Pod')).toEqual(expected);
    expect(original).toEqual(before);
  });

  test.each([
    ['an item without its key', containers({ name: 'a' }), containers({ image: 'x' })],
    ['an unknown directive', { spec: {} }, { spec: { $patch: 'improve' } }],
    [
      'a change that the order does not list',
      containers({ name: 'a' }),
      { spec: { '$setElementOrder/containers': [{ name: 'a' }], containers: [{ name: 'b' }] } },
    ],
    ['a directive that names no field', { metadata: {} }, { metadata: { $deleteFromPrimitiveList: ['a'] } }],
  ])('applyStrategicMerge rejects %s', (_name, original, patch) => {
    expect(() => applyStrategicMerge(original, patch, 'Pod')).toThrow(PatchProblem);
  });

  test('applying a patch twice gives the same result as once, without duplicate keys', () => {
    const item = fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd'), image: fc.constantFrom('1', '2') });
    const list = fc.uniqueArray(item, { selector: ({ name }) => name });
    fc.assert(
      fc.property(list, list, (before, change) => {
        const patch = containers(...change);
        const once = applyStrategicMerge(containers(...before), patch, 'Pod');
        expect(applyStrategicMerge(once, patch, 'Pod')).toEqual(once);
        const merged = (once as ReturnType<typeof containers>).spec.containers as { name: string; image: string }[];
        expect(merged.map(({ name }) => name).sort()).toEqual(
          [...new Set([...before, ...change].map(({ name }) => name))].sort(),
        );
        for (const { name, image } of change) expect(merged.find((one) => one.name === name)?.image).toBe(image);
      }),
    );
  });
});
