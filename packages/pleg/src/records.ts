import { computeEvents, mergeEvents } from './compute-events.ts';
import { noPod, type PodSnapshot, sameSnapshot } from './snapshot.ts';
import type { PodLifecycleEvent } from './types.ts';

/** What is known of a pod, and what must be told of it once the cache shows it. */
export interface PodRecord {
  readonly name: string;
  readonly namespace: string;
  readonly snapshot: PodSnapshot;
  /** The number of the look or list that `snapshot` is from: numbers are given when one begins, so that a greater one is newer. */
  readonly observation: number;
  /** Happened, but not told yet: the cache may be older still. */
  readonly events: readonly PodLifecycleEvent[];
}

/** A look at a pod: one status reading, or its place in one list. */
export interface Observation {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly snapshot: PodSnapshot;
  readonly observation: number;
}

/**
 * `record` after an observation: as it was, where that shows nothing new. One that began before what is known was seen proves nothing: where
 * it shows something else, `undefined` says that the pod must be looked at again, as nobody can tell which of the two is newer.
 */
export function observe(record: PodRecord | undefined, seen: Observation): PodRecord | undefined {
  const before = record?.snapshot ?? noPod;
  if (record !== undefined && sameSnapshot(before, seen.snapshot)) return record;
  if (record !== undefined && seen.observation < record.observation) return undefined;
  return {
    name: seen.name || (record?.name ?? ''),
    namespace: seen.namespace || (record?.namespace ?? ''),
    snapshot: seen.snapshot,
    observation: seen.observation,
    events: mergeEvents(record?.events ?? [], computeEvents(seen.uid, before, seen.snapshot)),
  };
}
