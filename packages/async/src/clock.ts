/** A timer set on a {@link Clock}. */
export interface Timer {
  /** Cancels the timer: its callback is not called afterwards. A second call of `cancel` does nothing. */
  cancel(): void;
}

/**
 * Source of time for all packages. Only {@link systemClock} reads the machine's time and sets real timers, so that a
 * complete node can run on a clock that a test controls.
 */
export interface Clock {
  /**
   * Returns the time of the wall clock: milliseconds since the Unix epoch, possibly with a fraction. The wall clock may
   * jump; use this time only for timestamps.
   */
  now(): number;
  /**
   * Returns the milliseconds, with a fraction, since a fixed but unknown time. The value never decreases; use it for
   * durations.
   */
  monotonic(): number;
  /**
   * Calls `callback` once after `delayMs` milliseconds, or in the next turn of the event loop if `delayMs` is 0 or
   * negative.
   */
  setTimer(delayMs: number, callback: () => void): Timer;
}

const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** The machine's clock. Its pending timers keep the process alive. */
export const systemClock: Clock = {
  // `monotonic` uses `performance.now()`, which counts from the start of the process. Changes of the wall clock and
  // suspends of the machine do not affect it.
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(delayMs, callback) {
    if (delayMs <= 0) {
      // A timeout would take at least 1 ms, and would be called together with all other timers that are due.
      const handle = setImmediate(callback);
      return { cancel: () => clearImmediate(handle) };
    }
    // Node fires a delay over 2^31-1 ms immediately. Delays are therefore capped at 24.8 days, which is longer than any
    // period used here.
    const handle = setTimeout(callback, Math.min(delayMs, MAX_TIMEOUT_MS));
    return { cancel: () => clearTimeout(handle) };
  },
};

/**
 * Resolves after `ms` milliseconds.
 * @throws the signal's reason as soon as `signal` is aborted; the timer is then cancelled
 */
export function sleep(clock: Pick<Clock, 'setTimer'>, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.setTimer(ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** Upper limit, in milliseconds, of the time by which a timer may fire too early. */
const EARLY_MS = 5;

/**
 * Resolves at the next whole multiple of `periodMs` on the monotonic clock that is at least 5 ms away. Periodic work
 * that uses this function wakes the process together with other periodic work. Most such work costs less than a wake-up
 * of the process.
 * @throws the signal's reason, as {@link sleep} does
 */
export function sleepUntilNext(
  clock: Pick<Clock, 'setTimer' | 'monotonic'>,
  periodMs: number,
  signal?: AbortSignal,
): Promise<void> {
  return sleep(clock, untilNextMs(clock.monotonic(), periodMs), signal);
}

/** Returns the milliseconds from `nowMs` until {@link sleepUntilNext} would resolve. */
export function untilNextMs(nowMs: number, periodMs: number): number {
  const restMs = periodMs - (nowMs % periodMs);
  return restMs < Math.min(EARLY_MS, periodMs) ? restMs + periodMs : restMs;
}
