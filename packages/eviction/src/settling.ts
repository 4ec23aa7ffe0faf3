import type { Observation } from './observations.ts';

/**
 * Maximum wait until the space of removed data is free; equal to upstream's period between two checks. containerd frees
 * the data of a removed container in its next garbage collection: usually after a second, after a few seconds if
 * collections take long.
 */
export const SETTLING_MS = 10_000;
/**
 * If the disk would be full within this time at its current fill rate, eviction does not wait for removed data to
 * become free.
 */
const HORIZON_MS = 30_000;

/**
 * Returns whether eviction can wait for a disk that is still short of space after a removal. Eviction cannot wait if
 * the disk keeps filling fast.
 * @param before an earlier observation, from which the fill rate is calculated
 */
export function maySettle(before: Observation, now: Observation): boolean {
  if (before.atMs === undefined || now.atMs === undefined) return true;
  const gone = Number(before.available.sub(now.available).value());
  const tookMs = now.atMs - before.atMs;
  if (gone <= 0 || tookMs <= 0) return true;
  return (Number(now.available.value()) / gone) * tookMs > HORIZON_MS;
}
