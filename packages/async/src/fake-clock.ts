import type { Clock, Timer } from './clock.ts';

interface PendingTimer {
  readonly dueMs: number;
  readonly order: number;
  readonly callback: () => void;
}

/**
 * A clock that advances only when a test advances it. Timers due at the same time fire in the order in which they were
 * set. Between two timers, every promise that can settle without real I/O has settled.
 */
export class FakeClock implements Clock {
  #monotonicMs = 0;
  #wallOffsetMs: number;
  #order = 0;
  #fired = 0;
  readonly #timers = new Set<PendingTimer>();

  /** @param startMs initial value of `now()`. Default: 2026-01-01T00:00:00Z */
  constructor(startMs: number = Date.UTC(2026, 0, 1)) {
    this.#wallOffsetMs = startMs;
  }

  now(): number {
    return this.#wallOffsetMs + this.#monotonicMs;
  }

  monotonic(): number {
    return this.#monotonicMs;
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    const nowMs = this.#monotonicMs;
    const sumMs = nowMs + Math.max(delayMs, 0);
    // Even the shortest delay advances the time. Otherwise a loop that waits for a fraction of a millisecond would
    // never end.
    const dueMs = delayMs > 0 && sumMs === nowMs ? nowMs * (1 + Number.EPSILON) : sumMs;
    const timer: PendingTimer = { dueMs, order: this.#order++, callback };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  }

  /** Number of pending timers, for leak checks in tests. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Milliseconds until the next timer is due; `undefined` if no timer is pending. */
  get nextTimerInMs(): number | undefined {
    const next = this.#next();
    return next && Math.max(0, next.dueMs - this.#monotonicMs);
  }

  /** Number of timers that have fired. Work between two of them is done in one turn of the event loop. */
  get firedTimers(): number {
    return this.#fired;
  }

  /**
   * Advances the time by `ms` without firing a timer: for code that the test calls and that takes this long. Timers that
   * become due fire at the next {@link advance}.
   * @throws RangeError if `ms` is negative or not a number
   */
  spend(ms: number): void {
    if (!(ms >= 0)) throw new RangeError(`ms must be a number that is not negative, not ${String(ms)}`);
    this.#monotonicMs += ms;
  }

  /** Moves only the wall clock, as an administrator or NTP does. Timers and `monotonic()` are not affected. */
  jumpWallClock(ms: number): void {
    this.#wallOffsetMs += ms;
  }

  /** Lets every promise settle that can settle without real I/O and without a change of the time. */
  async settle(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }

  /**
   * Advances the time by `ms`. Fires each timer when it is due, and settles promises after each timer. @throws
   * RangeError if `ms` is not a number
   */
  async advance(ms: number): Promise<void> {
    if (typeof ms !== 'number' || Number.isNaN(ms)) throw new RangeError(`ms must be a number, not ${String(ms)}`);
    const target = this.#monotonicMs + ms;
    await this.settle();
    for (let next = this.#next(); next !== undefined && next.dueMs <= target; next = this.#next()) {
      await this.#fire(next);
    }
    // Callbacks may have spent more time.
    this.#monotonicMs = Math.max(this.#monotonicMs, target);
  }

  /** Advances the time to the next pending timer and fires that timer. @returns `false` if no timer is pending */
  async advanceToNext(): Promise<boolean> {
    await this.settle();
    return await this.fireNext();
  }

  /**
   * Does the same as {@link advanceToNext}, but without settling first: for a caller that has just settled all
   * promises.
   */
  async fireNext(): Promise<boolean> {
    const next = this.#next();
    if (next === undefined) return false;
    await this.#fire(next);
    return true;
  }

  async #fire(timer: PendingTimer): Promise<void> {
    this.#timers.delete(timer);
    this.#monotonicMs = Math.max(this.#monotonicMs, timer.dueMs);
    this.#fired += 1;
    timer.callback();
    await this.settle();
  }

  #next(): PendingTimer | undefined {
    let best: PendingTimer | undefined;
    for (const timer of this.#timers) {
      if (best === undefined || timer.dueMs < best.dueMs || (timer.dueMs === best.dueMs && timer.order < best.order)) {
        best = timer;
      }
    }
    return best;
  }
}
