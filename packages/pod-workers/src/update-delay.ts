import type { PodWorkerState } from './record.ts';

/**
 * Returns the delay before a pod's next step, in milliseconds. A pod whose annotations change continuously then costs a
 * few steps per second instead of one per change. Only updates of a running pod are delayed: the first update, kills,
 * terminations, exits of containers and retries are not. Times are of the monotonic clock.
 */
export function updateDelayMs(
  { phase, pending }: Pick<PodWorkerState, 'phase' | 'pending'>,
  lastUpdateMs: number,
  nowMs: number,
  spacingMs: number,
): number {
  if (phase !== 'syncing' || pending?.patient !== true) return 0;
  return Math.max(0, lastUpdateMs + spacingMs - nowMs);
}
