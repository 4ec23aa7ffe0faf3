import type { Reclaim } from './disk-layout.ts';
import type { StatsSnapshot } from './stats-reader.ts';
import type { Threshold } from './threshold.ts';

/** A finished removal of unused resources. */
export interface Removal {
  /** Wall-clock time of the end of the removal. */
  readonly endedAtMs: number;
  readonly kinds: readonly Reclaim[];
}

/** Returns whether the stats are new enough to show the effect of a removal. */
export function showsEffect(
  { endedAtMs }: Pick<Removal, 'endedAtMs'>,
  { signal }: Pick<Threshold, 'signal'>,
  { observations }: Pick<StatsSnapshot, 'observations'>,
): boolean {
  const { atMs } = observations.get(signal) ?? {};
  return atMs !== undefined && atMs >= endedAtMs;
}

/**
 * Returns whether unused resources must be removed before a pod is chosen.
 * @param kinds the kinds that can be removed for the threshold
 * @param shown the kinds of the last removal, if the stats show its effect: these kinds need not be removed again
 * @param measuresUsage whether the disk usage of pods is measured together with a removal
 */
export function isRemovalDue(
  kinds: readonly Reclaim[],
  shown: readonly Reclaim[] | undefined,
  measuresUsage: boolean,
): boolean {
  if (shown !== undefined && kinds.every((kind) => shown.includes(kind))) return false;
  return kinds.length > 0 || measuresUsage;
}
