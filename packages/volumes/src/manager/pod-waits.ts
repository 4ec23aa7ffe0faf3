import { AsyncError, type Clock, withTimeout } from '@node-agent/async';
import { VolumeError } from '../errors.ts';
import type { UnsettledVolume, VolumeOutcome } from './volume-outcomes.ts';
import { timedOut } from './volume-waits.ts';

/** Maximum time that a pod waits for an unfinished volume operation, in milliseconds. */
const WAIT_MS = 123_000;

/** Lets pods wait for their volumes, with a time limit. */
export class PodWaits {
  readonly #clock: Clock;
  /**
   * Monotonic time of the last event about failed volumes, by pod UID. Before the first event: the time at which the
   * pod began to wait.
   */
  readonly #since = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Waits for volumes; a volume whose operation does not finish in time counts as failed.
   * @param late returns the outcomes if the time is over; called with a function that returns the failure of an
   * unfinished volume
   */
  async inTime(
    signal: AbortSignal,
    outcomes: (linked: AbortSignal) => Promise<readonly VolumeOutcome[]>,
    late: (
      unfinished: (volume: Pick<UnsettledVolume, 'isOtherwise' | 'unanswered'>) => VolumeError,
    ) => readonly VolumeOutcome[],
  ): Promise<readonly VolumeOutcome[]> {
    try {
      return await withTimeout(this.#clock, WAIT_MS, outcomes, signal);
    } catch (cause) {
      signal.throwIfAborted();
      const nowMs = this.#clock.monotonic();
      return late((volume) => new VolumeError('TimedOut', timedOut(volume, nowMs), cause));
    }
  }

  /** Waits for `work`, but not longer than until a monotonic time. @throws the signal's reason */
  async until(
    untilMs: number | undefined,
    work: (linked: AbortSignal) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    if (untilMs === undefined) return await work(signal);
    const restMs = Math.max(untilMs - this.#clock.monotonic(), 0);
    await withTimeout(this.#clock, restMs, work, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      if (!AsyncError.is(error) || error.code !== 'Timeout') throw error;
    });
  }

  /**
   * Returns whether no event for the pod as a whole is due yet. Each failed volume has its own event; the pod gets an
   * event each time it has waited for the maximum time.
   * @param startMs monotonic time at which the current wait began
   */
  isReported(podUid: string, startMs: number): boolean {
    const nowMs = this.#clock.monotonic();
    const sinceMs = this.#since.get(podUid) ?? startMs;
    const isReported = nowMs - sinceMs < WAIT_MS;
    this.#since.set(podUid, isReported ? sinceMs : nowMs);
    return isReported;
  }

  /** Records that the pod's volumes are ready, or that the pod is being removed. */
  forget(podUid: string): void {
    this.#since.delete(podUid);
  }
}
