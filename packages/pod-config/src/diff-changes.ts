import type { Pod } from '@node-agent/pod-spec';
import { nextVersion, type PodDiff, type PodMarks } from './diff-pods.ts';

/** The newest version of each pod that has changed, by full name; `undefined` for a pod that its source no longer has. */
export type ChangedPods = ReadonlyMap<string, Pod | undefined>;

/** What is known of a source before some of its pods change. */
export interface KnownPods {
  byUid(uid: string): Pod | undefined;
  byFullName(fullName: string): Pod | undefined;
  /** Whether another source holds a pod of this UID. */
  isHeld(uid: string): boolean;
}

/** What changed, in the form of {@link PodDiff}: `pods` and `duplicates` are left out, as the pods that did not change are not looked at. */
export type ChangesDiff = Omit<PodDiff, 'pods' | 'duplicates'>;

/**
 * Compares the pods that have changed, and no others, so that an event costs the same however many pods there are.
 * @returns `undefined` if a UID is used twice or belongs to another source: then the whole list has to be compared
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
