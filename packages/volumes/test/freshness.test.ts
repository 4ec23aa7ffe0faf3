import type { Pod } from '@node-agent/pod-spec';
import { expect, test } from 'vitest';
import { isFresh } from '../src/manager/freshness.ts';

const spec = { containers: [] };
const pod = (metadata: Partial<Pod['metadata']> = {}, itsSpec: Pod['spec'] = spec): Pod => ({
  metadata: { uid: 'u', name: 'p', namespace: 'n', generation: 1, labels: { app: 'web' }, ...metadata },
  spec: itsSpec,
});

test.each<[string, Pod, number, boolean]>([
  ['29.999 s without a change', pod(), 29_999, true],
  ['30 s without a change', pod(), 30_000, false],
  ['another status', { ...pod({ resourceVersion: '2' }, { containers: [] }), status: { phase: 'Running' } }, 1, true],
  ['another label', pod({ labels: { app: 'db' } }), 1, false],
  ['an additional label', pod({ labels: { app: 'web', tier: 'a' } }), 1, false],
  ['no labels', pod({ labels: {} }), 1, false],
  ['an annotation', pod({ annotations: { a: 'b' } }), 1, false],
  ['another spec', pod({ generation: 2 }, { containers: [] }), 1, false],
  ['another spec of a source without generations', pod({ generation: 0 }, { containers: [] }), 1, false],
])('after %s, the content of a volume counts as fresh: $3', (_name, next, atMs, fresh) => {
  expect(isFresh({ pod: pod(), atMs: 0 }, next, atMs)).toBe(fresh);
  expect(isFresh({ pod: pod(), atMs: 100_000 }, next, 100_000 + atMs)).toBe(fresh);
});

test('after a change to a pod from a source without metadata.generation, content is fresh only if the spec is the same object', () => {
  const { generation: _, ...metadata } = pod().metadata;
  const filling = { pod: { metadata, spec }, atMs: 0 };
  expect(isFresh(filling, { metadata, spec }, 1)).toBe(true);
  expect(isFresh(filling, { metadata, spec: { containers: [] } }, 1)).toBe(false);
});

test('the content of a volume that was never written does not count as fresh', () => {
  expect(isFresh(undefined, pod(), 0)).toBe(false);
});

// A comparison of all annotations for each volume would exceed the test's timeout.
test('W6: checks many volumes of a pod with many annotations in linear time', () => {
  const annotations = (): Record<string, string> =>
    Object.fromEntries(Array.from({ length: 30_000 }, (_, index) => [`a${index}`, '']));
  const filling = { pod: pod({ annotations: annotations() }), atMs: 0 };
  const next = pod({ annotations: annotations(), resourceVersion: '2' });
  const fresh = Array.from({ length: 10_000 }, () => isFresh(filling, next, 1));
  expect(fresh.every((one) => one)).toBe(true);
});
