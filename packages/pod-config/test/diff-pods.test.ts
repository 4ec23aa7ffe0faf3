import { CONFIG_SEEN_ANNOTATION, CONFIG_SOURCE_ANNOTATION, type Pod } from '@node-agent/pod-spec';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { comparePods, diffPods, type PodDiff } from '../src/diff-pods.ts';
import { type PodParts, podOf } from './helpers.ts';

const SEEN = '2026-01-01T00:00:00.000000000Z';
const marks = (seenAt: string) => ({ source: 'api', seenAt });

describe('comparePods', () => {
  const cases: [string, PodParts, PodParts, string][] = [
    ['the same', {}, {}, 'none'],
    ['another spec', {}, { image: 'other' }, 'UPDATE'],
    ['another label', { labels: { a: '1' } }, { labels: { a: '2' } }, 'UPDATE'],
    ['absent labels and empty labels', {}, { labels: {} }, 'none'],
    ['a new annotation', {}, { annotations: { a: '1' } }, 'UPDATE'],
    ['an annotation gone', { annotations: { a: '1' } }, {}, 'UPDATE'],
    ['annotations of the kubelet', { annotations: { [CONFIG_SEEN_ANNOTATION]: 'x' } }, {}, 'none'],
    ['the source annotation', {}, { annotations: { [CONFIG_SOURCE_ANNOTATION]: 'file' } }, 'none'],
    ['a deletion timestamp', {}, { deletionTimestamp: SEEN }, 'DELETE'],
    [
      'a shorter grace period',
      { deletionTimestamp: SEEN, deletionGracePeriodSeconds: 30 },
      { deletionTimestamp: SEEN, deletionGracePeriodSeconds: 1 },
      'DELETE',
    ],
    ['the status alone', { phase: 'Pending' }, { phase: 'Running' }, 'RECONCILE'],
    ['status and spec', { phase: 'Pending' }, { phase: 'Running', image: 'other' }, 'UPDATE'],
  ];
  it('comparePods reports no change between pods with the same resourceVersion and does not compare their fields', () => {
    const pod = podOf({ image: 'one' });
    const at = (resourceVersion: string, image: string): Pod => ({
      ...podOf({ image }),
      metadata: { ...pod.metadata, resourceVersion },
    });
    expect(comparePods(at('7', 'one'), at('7', 'two'))).toBe('none');
    expect(comparePods(at('7', 'one'), at('8', 'two'))).toBe('UPDATE');
    expect(comparePods(at('', 'one'), at('', 'two'))).toBe('UPDATE');
  });

  it.each(cases)('comparePods returns $3 for this difference: %s', (_name, before, after, change) => {
    expect(comparePods(podOf(before), podOf(after))).toBe(change);
  });
});

describe('diffPods', () => {
  it('annotates a new pod with its source and the time it was first seen, and keeps both through updates', () => {
    const marked = { [CONFIG_SOURCE_ANNOTATION]: 'api', [CONFIG_SEEN_ANNOTATION]: SEEN };
    const first = diffPods(new Map(), [podOf()], marks(SEEN));
    expect(first.added[0]?.metadata.annotations).toEqual(marked);
    const second = diffPods(first.pods, [podOf({ image: 'other' })], marks('later'));
    expect(second.updated[0]?.metadata.annotations).toEqual(marked);
  });

  it('keeps the first of two pods with the same full name, and reports the other as a duplicate', () => {
    const [a, b] = [podOf({ uid: 'a', name: 'web' }), podOf({ uid: 'b', name: 'web' })];
    const diff = diffPods(new Map(), [a, b], marks(SEEN));
    expect([...diff.pods.keys()]).toEqual(['a']);
    expect(diff.duplicates).toMatchObject([{ pod: b, of: { metadata: { uid: 'a' } }, key: 'name' }]);
  });

  it('keeps the first of two pods with the same UID, and reports the other as a duplicate', () => {
    const [a, b] = [podOf({ uid: 'a', name: 'web' }), podOf({ uid: 'a', name: 'db' })];
    const diff = diffPods(new Map(), [a, b], marks(SEEN));
    expect(diff.pods.get('a')?.metadata.name).toBe('web');
    expect(diff.duplicates).toMatchObject([{ pod: b, key: 'uid' }]);
  });

  it('returns the same object for a pod that did not change', () => {
    const { pods } = diffPods(new Map(), [podOf()], marks(SEEN));
    expect(diffPods(pods, [podOf()], marks('later')).pods.get('u1')).toBe(pods.get('u1'));
  });

  it('the lists of diffPods turn the old pods into the new ones, and a second diff with the same pods is empty', () => {
    fc.assert(
      fc.property(podList, podList, (before, after) => {
        const old = diffPods(new Map(), before, marks(SEEN)).pods;
        const diff = diffPods(old, after, marks('later'));
        expect(applyDiff(old, diff)).toEqual(new Map(diff.pods));
        expect([...diff.pods.values()].map(wanted).sort()).toEqual(firsts(after).map(wanted).sort());
        const again = diffPods(diff.pods, after, marks('later still'));
        expect([again.added, again.updated, again.deleted, again.removed, again.reconciled].flat()).toEqual([]);
      }),
    );
  });

  it('diffPods puts each pod into at most one of its lists', () => {
    fc.assert(
      fc.property(podList, podList, (before, after) => {
        const diff = diffPods(diffPods(new Map(), before, marks(SEEN)).pods, after, marks(SEEN));
        const all = [diff.added, diff.updated, diff.deleted, diff.removed, diff.reconciled].flat();
        expect(new Set(all.map((pod) => pod.metadata.uid)).size).toBe(all.length);
      }),
    );
  });
});

const podList: fc.Arbitrary<Pod[]> = fc.array(
  fc
    .record(
      {
        uid: fc.constantFrom('a', 'b', 'c', 'd'),
        name: fc.constantFrom('web', 'db', 'log'),
        image: fc.constantFrom('x', 'y'),
        labels: fc.constantFrom({}, { k: 'v' }),
        deletionTimestamp: fc.constant(SEEN),
        phase: fc.constantFrom('Pending', 'Running'),
      },
      { requiredKeys: ['uid'] },
    )
    .map(podOf),
  { maxLength: 6 },
);

/** Returns the pods that a consumer knows after it has applied a diff. */
function applyDiff(old: ReadonlyMap<string, Pod>, diff: PodDiff): Map<string, Pod> {
  const state = new Map(old);
  for (const pod of diff.removed) state.delete(pod.metadata.uid);
  for (const pod of [...diff.added, ...diff.updated, ...diff.deleted, ...diff.reconciled])
    state.set(pod.metadata.uid, pod);
  return state;
}

function firsts(pods: readonly Pod[]): Pod[] {
  const kept: Pod[] = [];
  for (const pod of pods) {
    const clash = kept.some(({ metadata: m }) => m.uid === pod.metadata.uid || m.name === pod.metadata.name);
    if (!clash) kept.push(pod);
  }
  return kept;
}

/** Returns all fields that {@link diffPods} compares, as text. */
function wanted({ metadata, spec, status }: Pod): string {
  const { uid, labels, deletionTimestamp } = metadata;
  return JSON.stringify([uid, spec, Object.entries(labels ?? {}), deletionTimestamp, status?.phase]);
}
