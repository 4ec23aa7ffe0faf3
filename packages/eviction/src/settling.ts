import type { Observation } from './observations.ts';

/**
 * How long at most it is waited for what was removed to be free: as long as upstream lies between two looks. containerd frees what a removed
 * container wrote on the next round of its own collection, a second later or, where those rounds take long, a few.
 */
export const SETTLING_MS = 10_000;
/** Where no more is left than what is used up in this time, nothing can be waited for. */
const HORIZON_MS = 30_000;

/**
 * Whether a disk that is still short after something was removed can be given time to become free: not where it goes on filling.
 * @param before what was left earlier; the time between them tells how fast that changes
 */
export function maySettle(before: Observation, now: Observation): boolean {
  if (before.atMs === undefined || now.atMs === undefined) return true;
  const gone = Number(before.available.sub(now.available).value());
  const tookMs = now.atMs - before.atMs;
  if (gone <= 0 || tookMs <= 0) return true;
  return (Number(now.available.value()) / gone) * tookMs > HORIZON_MS;
}
