import { untilNextMs } from '@node-agent/async';
import type { PressureState } from './pressure.ts';

/** Delay before stats are read again if the current stats are too old to evict pods by. */
export const RETRY_MS = 1000;

/** Facts that decide when the node is checked next. Times are monotonic. */
export interface CheckSchedule {
  readonly nowMs: number;
  readonly periodMs: number;
  readonly firstMetAt: PressureState['firstMetAt'];
  /** Whether a threshold may need a response, but the stats were not fresh enough to act on. */
  readonly needsNewerStats: boolean;
  /** Maximum delay of the next check in ms; not used if newer stats are needed. */
  readonly maxDelayMs: number;
}

/**
 * Returns the delay until the next check of the node: until the next period, the end of the first grace period, or the
 * next retry, whichever is first. A gauge that detects a crossed threshold can make a check due earlier.
 */
export function nextCheckInMs({ nowMs, periodMs, firstMetAt, needsNewerStats, maxDelayMs }: CheckSchedule): number {
  const graceEnds = [...firstMetAt]
    .map(([{ gracePeriodMs }, sinceMs]) => sinceMs + gracePeriodMs - nowMs)
    .filter((ms) => ms > 0);
  return Math.min(untilNextMs(nowMs, periodMs), needsNewerStats ? RETRY_MS : maxDelayMs, ...graceEnds);
}
