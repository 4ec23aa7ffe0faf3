/** A timer that was set on a {@link Clock}. */
export interface Timer {
  /** Forgets the timer; its callback is not called afterwards. Calling it twice does nothing. */
  cancel(): void;
}

/**
 * Time as everything in this repository sees it. Nothing outside of {@link systemClock} asks the machine for the
 * time or sets a timer, so that a whole node can run under a clock that a test moves.
 */
export interface Clock {
  /** The wall clock: milliseconds since the Unix epoch, perhaps with a fraction. It may jump; use it for timestamps only. */
  now(): number;
  /** Milliseconds, with a fraction, since a fixed but unknown instant. Never goes back; use it for durations. */
  monotonic(): number;
  /** Calls `callback` once, `delayMs` milliseconds from now (at the next turn where it is 0 or negative). */
  setTimer(delayMs: number, callback: () => void): Timer;
}

const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** The machine's own clock. Its timers keep the process alive while they are pending. */
export const systemClock: Clock = {
  // `performance` counts on from the time at which the process began: it hears of no step of the clock, and of no suspend.
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(delayMs, callback) {
    // A delay over 2^31-1 ms would fire at once: cap it at 24.8 days, longer than any period here.
    const handle = setTimeout(callback, Math.min(Math.max(delayMs, 0), MAX_TIMEOUT_MS));
    return { cancel: () => clearTimeout(handle) };
  },
};

/**
 * Resolves `ms` milliseconds from now.
 * @throws the signal's reason, as soon as `signal` is aborted; the timer is cancelled then.
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

/** A timer may be early by less than this. */
const EARLY_MS = 5;

/**
 * Resolves at the next instant that is a whole multiple of `periodMs` on the monotonic clock, at least 5 ms from now. Work that comes
 * again and again shares the wakings of the process so, each of which costs more than most of that work does.
 * @throws as {@link sleep}
 */
export function sleepUntilNext(
  clock: Pick<Clock, 'setTimer' | 'monotonic'>,
  periodMs: number,
  signal?: AbortSignal,
): Promise<void> {
  return sleep(clock, untilNextMs(clock.monotonic(), periodMs), signal);
}

/** How long it is until then. */
export function untilNextMs(nowMs: number, periodMs: number): number {
  const restMs = periodMs - (nowMs % periodMs);
  return restMs < Math.min(EARLY_MS, periodMs) ? restMs + periodMs : restMs;
}
