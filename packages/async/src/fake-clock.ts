import type { Clock, Timer } from './clock.ts';

interface PendingTimer {
  readonly dueMs: number;
  readonly order: number;
  readonly callback: () => void;
}

/**
 * A clock that stands still until a test moves it. Timers that are due at the same instant fire in the order in which
 * they were set. Between two timers every promise that can settle without real I/O has settled.
 */
export class FakeClock implements Clock {
  #monotonicMs = 0;
  #wallOffsetMs: number;
  #order = 0;
  readonly #timers = new Set<PendingTimer>();

  /** @param startMs what `now()` says at first; 2026-01-01T00:00:00Z by default */
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
    // However short a delay is, time has passed after it: a loop that waits for the rest of a fraction ends.
    const dueMs = delayMs > 0 && sumMs === nowMs ? nowMs * (1 + Number.EPSILON) : sumMs;
    const timer: PendingTimer = { dueMs, order: this.#order++, callback };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  }

  /** How many timers are pending: a leak check for tests. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** How long until the next timer is due, in milliseconds; `undefined` where none is pending. */
  get nextTimerInMs(): number | undefined {
    const next = this.#next();
    return next && next.dueMs - this.#monotonicMs;
  }

  /** Moves the wall clock alone, as an administrator or NTP does; timers and `monotonic()` do not notice. */
  jumpWallClock(ms: number): void {
    this.#wallOffsetMs += ms;
  }

  /** Lets every promise settle that can settle without time passing and without real I/O. */
  async settle(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }

  /** Moves time on by `ms`, firing each timer at its instant and settling promises after each. @throws RangeError for what is no number */
  async advance(ms: number): Promise<void> {
    if (typeof ms !== 'number' || Number.isNaN(ms)) throw new RangeError(`ms must be a number, not ${String(ms)}`);
    const target = this.#monotonicMs + ms;
    await this.settle();
    for (let next = this.#next(); next !== undefined && next.dueMs <= target; next = this.#next()) {
      await this.#fire(next);
    }
    this.#monotonicMs = target;
  }

  /** Moves time to the next pending timer and fires it; `false` where none is pending. */
  async advanceToNext(): Promise<boolean> {
    await this.settle();
    return await this.fireNext();
  }

  /** As {@link advanceToNext}, for a caller who has let everything settle and has done nothing since. */
  async fireNext(): Promise<boolean> {
    const next = this.#next();
    if (next === undefined) return false;
    await this.#fire(next);
    return true;
  }

  async #fire(timer: PendingTimer): Promise<void> {
    this.#timers.delete(timer);
    this.#monotonicMs = Math.max(this.#monotonicMs, timer.dueMs);
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
