import type { Pod } from '@node-agent/pod-spec';
import { nextVersion, type PodDiff, type PodMarks } from './diff-pods.ts';

/** Newest version of each changed pod by full name; `undefined` for a pod that its source no longer has. */
export type ChangedPods = ReadonlyMap<string, Pod | undefined>;

/** State of a source before some of its pods change. */
export interface KnownPods {
  byUid(uid: string): Pod | undefined;
  byFullName(fullName: string): Pod | undefined;
  /** Returns whether another source holds a pod of this UID. */
  isHeld(uid: string): boolean;
}

/**
 * The changes in the form of {@link PodDiff}, without `pods` and `duplicates`, because unchanged pods are not examined.
 */
export type ChangesDiff = Omit<PodDiff, 'pods' | 'duplicates'>;

/**
 * Compares only the changed pods, so that the cost of an event does not depend on the number of pods.
 * @returns `undefined` if a UID is used twice or belongs to another source; the whole list must then be compared
 */
export function diffChanges(known: KnownPods, changes: ChangedPods, marks: PodMarks): ChangesDiff | undefined {
  const lists = { ADD: [] as Pod[], UPDATE: [] as Pod[], DELETE: [] as Pod[], RECONCILE: [] as Pod[] };
  const removed: Pod[] = [];
  const uids = new Set<string>();
  for (const [fullName, pod] of changes) {
    const before = known.byFullName(fullName);
    if (before !== undefined && before.metadata.uid !== pod?.metadata.uid) removed.push(before);
    if (pod === undefined) continue;
    const { uid } = pod.metadata;
    const existing = known.byUid(uid);
    if (uids.has(uid) || existing !== (before?.metadata.uid === uid ? before : undefined)) return undefined;
    if (existing === undefined && known.isHeld(uid)) return undefined;
    uids.add(uid);
    const { change, current } = nextVersion(existing, pod, marks);
    if (change !== 'none') lists[change].push(current);
  }
  const { ADD: added, UPDATE: updated, DELETE: deleted, RECONCILE: reconciled } = lists;
  return { added, updated, deleted, removed, reconciled };
}
