import type { Clock } from '@node-agent/async';
import { laneOf } from './lanes.ts';
import { isMetBy } from './pressure.ts';
import { maySettle, SETTLING_MS } from './settling.ts';
import type { StatsSnapshot } from './stats-reader.ts';
import type { Threshold } from './threshold.ts';

/**
 * Tracks whether removed containers may still free space on a full disk: runtimes free the space of removed containers
 * some time after the removal. Until the space is free, no pod is evicted for the disk (N2).
 */
export class DiskSettling {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** Last stats of each disk that is short of space; `undefined` if they must not be used to compute a fill rate. */
  readonly #lastStats = new Map<Threshold, StatsSnapshot | undefined>();
  /** Whether containers were removed, or have stopped, since the disk became short of space. */
  #mayFree = false;
  /** Monotonic time since when disk space may become free. */
  #sinceMs: number | undefined;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /**
   * Records the stats in which a disk is short of space. Does nothing for thresholds that do not concern a disk.
   * @returns the previous stats of the threshold
   */
  record(threshold: Threshold, stats: StatsSnapshot): StatsSnapshot | undefined {
    const before = this.#lastStats.get(threshold);
    if (isDiskThreshold(threshold)) this.#lastStats.set(threshold, stats);
    return before;
  }

  /** Returns whether removed data, including the files of the last evicted pod, may still become free. */
  maySettle(threshold: Threshold, before: StatsSnapshot | undefined, now: StatsSnapshot): boolean {
    if (!isDiskThreshold(threshold)) return false;
    const sinceMs = this.#sinceMs;
    if (sinceMs === undefined || this.#clock.monotonic() - sinceMs >= SETTLING_MS) return false;
    const [then, last] = [before, now].map((stats) => stats?.observations.get(threshold.signal));
    return then === undefined || last === undefined || maySettle(then, last);
  }

  /** Notes the end of a removal. @param mayFree whether containers were removed */
  removalEnded(mayFree: boolean): void {
    this.#mayFree ||= mayFree;
    if (this.#mayFree) this.#sinceMs ??= this.#clock.monotonic();
  }

  /**
   * Notes that pods which wrote to disks are gone. The fill rates measured so far do not apply to the remaining pods.
   */
  podsGone(): void {
    this.#reset(true);
    for (const threshold of this.#lastStats.keys()) this.#lastStats.set(threshold, undefined);
  }

  /**
   * Drops the state of disks that are no longer short of space.
   * @param met the thresholds that the stats meet, whether or not their grace period has passed
   */
  onStats({ observations }: StatsSnapshot, met: readonly Threshold[]): void {
    for (const threshold of this.#lastStats.keys()) {
      // A disk without values keeps its state.
      const isObserved = observations.has(threshold.signal);
      if (isObserved && !isMetBy(threshold, observations, true)) this.#lastStats.delete(threshold);
    }
    if (this.#lastStats.size === 0 && !met.some(isDiskThreshold)) this.#reset(false);
  }

  /** @param mayFree whether the next removal may free disk space */
  #reset(mayFree: boolean): void {
    this.#mayFree = mayFree;
    this.#sinceMs = undefined;
  }
}

export function isDiskThreshold({ signal }: Threshold): boolean {
  return laneOf(signal) === 'disk';
}
