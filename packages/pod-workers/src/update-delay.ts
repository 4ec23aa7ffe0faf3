import type { PodWorkerState } from './record.ts';

/**
 * How long a pod's next step is put off, in milliseconds, so that a pod whose annotations change without end costs a few steps
 * a second and not one for each change. Nothing else waits: not the first update, no kill, no end of a pod, no container that
 * died, no retry. Times are of the monotonic clock.
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
