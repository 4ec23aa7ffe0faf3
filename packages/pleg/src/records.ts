import { computeEvents, mergeEvents } from './compute-events.ts';
import { noPod, type PodSnapshot, sameSnapshot } from './snapshot.ts';
import type { PodLifecycleEvent } from './types.ts';

/** What is known of a pod, and what must be told of it once the cache shows it. */
export interface PodRecord {
  readonly name: string;
  readonly namespace: string;
  readonly snapshot: PodSnapshot;
  /** When the last look or list ended that showed `snapshot`, in the count of {@link Observation}. */
  readonly endedAt: number;
  /**
   * What a list showed and no look has confirmed. Runtimes are known to list containers whose status they do not find: what was not
   * confirmed once is looked at again, but no news.
   */
  readonly claim: PodSnapshot | undefined;
  /** Happened, but not told yet: the cache may be older still. */
  readonly events: readonly PodLifecycleEvent[];
}

/**
 * A look at a pod: one status reading, or its place in one list. Beginnings and ends are counted. When in between the runtime looked is
 * unknown: of two observations the one is newer for sure only if it began after the other had ended.
 */
export interface Observation {
  readonly kind: 'look' | 'list';
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly snapshot: PodSnapshot;
  readonly beganAt: number;
  readonly endedAt: number;
}

/**
 * `record` after an observation; with the same `snapshot` where that shows nothing new. One that began before what is known had been seen
 * proves nothing, nor does a list that repeats what a look did not confirm: where these show something else, `undefined` says that the pod
 * must be looked at again.
 */
export function observe(record: PodRecord | undefined, seen: Observation): PodRecord | undefined {
  const before = record?.snapshot ?? noPod;
  const same = sameSnapshot(before, seen.snapshot);
  if (record !== undefined && !same) {
    if (seen.beganAt < record.endedAt) return undefined;
    if (seen.kind === 'list' && record.claim !== undefined && sameSnapshot(record.claim, seen.snapshot))
      return undefined;
  }
  return {
    name: seen.name || (record?.name ?? ''),
    namespace: seen.namespace || (record?.namespace ?? ''),
    snapshot: same ? before : seen.snapshot,
    endedAt: Math.max(record?.endedAt ?? 0, seen.endedAt),
    claim: claimAfter(record, seen, same),
    events: same
      ? (record?.events ?? [])
      : mergeEvents(record?.events ?? [], computeEvents(seen.uid, before, seen.snapshot)),
  };
}

function claimAfter(record: PodRecord | undefined, seen: Observation, same: boolean): PodSnapshot | undefined {
  if (seen.kind === 'list' && !same) return seen.snapshot;
  const claim = record?.claim;
  if (claim === undefined) return undefined;
  // A look keeps what it does not confirm in mind; a list that agrees with it has dropped its claim.
  const confirmed = sameSnapshot(claim, seen.snapshot);
  return seen.kind === 'look' ? (confirmed ? undefined : claim) : confirmed ? claim : undefined;
}
