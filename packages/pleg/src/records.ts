import { computeEvents, mergeEvents } from './compute-events.ts';
import { noPod, type PodSnapshot, sameSnapshot } from './snapshot.ts';
import type { PodLifecycleEvent } from './types.ts';

/** Known state of a pod, with the events that must be emitted once the cache shows the state. */
export interface PodRecord {
  readonly name: string;
  readonly namespace: string;
  readonly snapshot: PodSnapshot;
  /** Logical time at which the last read or list that showed `snapshot` ended. See {@link Observation}. */
  readonly endedAt: number;
  /**
   * State that a list showed but a read did not confirm. Some runtimes list containers whose status they cannot return.
   * If a read did not confirm the state, the same list entry causes another read but no events.
   */
  readonly claim: PodSnapshot | undefined;
  /** Events that have not been emitted yet, because the cache may still be older than the events. */
  readonly events: readonly PodLifecycleEvent[];
}

/**
 * One observation of a pod: a status read, or the pod's entry in a list. The start and the end of each observation are
 * numbered by a logical clock. The exact time at which the runtime sampled the state is unknown. Therefore an
 * observation counts as newer than another one only if it began after the other one had ended.
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
 * Returns the record updated by an observation. If nothing changed, `snapshot` is the same object. Returns `undefined`
 * if the pod must be read again, because the observed state differs but proves nothing. Either the observation began
 * before the known state had been observed, or the observation is a list that repeats a state which a read did not
 * confirm.
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
  // A read that does not confirm the unconfirmed state keeps it. A list that differs from that state drops it.
  const confirmed = sameSnapshot(claim, seen.snapshot);
  return seen.kind === 'look' ? (confirmed ? undefined : claim) : confirmed ? claim : undefined;
}
