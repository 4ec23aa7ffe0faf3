import { computeEvents, mergeEvents } from './compute-events.ts';
import { noPod, type PodSnapshot, sameSnapshot } from './snapshot.ts';
import type { PodLifecycleEvent } from './types.ts';

/** What is known of a pod, and what must be told of it once the cache shows it. */
export interface PodRecord {
  readonly name: string;
  readonly namespace: string;
  readonly snapshot: PodSnapshot;
  /** When the look or list ended that `snapshot` is from, in the count of {@link Observation}. */
  readonly endedAt: number;
  /** Happened, but not told yet: the cache may be older still. */
  readonly events: readonly PodLifecycleEvent[];
}

/**
 * A look at a pod: one status reading, or its place in one list. Beginnings and ends are counted. When in between the runtime looked is
 * unknown: of two observations the one is newer for sure only if it began after the other had ended.
 */
export interface Observation {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly snapshot: PodSnapshot;
  readonly beganAt: number;
  readonly endedAt: number;
}

/**
 * `record` after an observation: as it was, where that shows nothing new. One that began before what is known had been seen proves
 * nothing: where it shows something else, `undefined` says that the pod must be looked at again.
 */
export function observe(record: PodRecord | undefined, seen: Observation): PodRecord | undefined {
  const before = record?.snapshot ?? noPod;
  if (record !== undefined && sameSnapshot(before, seen.snapshot)) return record;
  if (record !== undefined && seen.beganAt < record.endedAt) return undefined;
  return {
    name: seen.name || (record?.name ?? ''),
    namespace: seen.namespace || (record?.namespace ?? ''),
    snapshot: seen.snapshot,
    endedAt: seen.endedAt,
    events: mergeEvents(record?.events ?? [], computeEvents(seen.uid, before, seen.snapshot)),
  };
}
