import { Backoff, type BackoffOptions, type Clock, linkAbort, sleep, untilAborted } from '@node-agent/async';

/** Due times of writes, by key: now, or after the back-off of the last failure. */
export class WriteSchedule {
  readonly #clock: Clock;
  readonly #backOff: Backoff;
  /** Monotonic due times, by key. */
  readonly #dueMs = new Map<string, number>();
  #woken = Promise.withResolvers<void>();

  constructor(clock: Clock, backOff: BackoffOptions) {
    this.#clock = clock;
    this.#backOff = new Backoff({ clock }, backOff);
  }

  /** Makes a key due now, without the back-off of earlier failures. */
  now(key: string): void {
    this.#backOff.reset(key);
    this.#dueMs.set(key, 0);
    this.#woken.resolve();
  }

  /** Delays a key by its back-off, because its write failed. @returns milliseconds until the key is due again */
  later(key: string): number {
    this.#backOff.next(key, this.#clock.now());
    const delayMs = this.#backOff.delayMs(key);
    this.#dueMs.set(key, this.#clock.monotonic() + delayMs);
    this.#woken.resolve();
    return delayMs;
  }

  done(key: string): void {
    this.#backOff.reset(key);
    this.#dueMs.delete(key);
  }

  /** Returns the keys that are due. A key that becomes due after this call ends the next {@link wait}. */
  take(): readonly string[] {
    this.#woken = Promise.withResolvers();
    const nowMs = this.#clock.monotonic();
    return [...this.#dueMs].filter(([, dueMs]) => dueMs <= nowMs).map(([key]) => key);
  }

  /** Waits until the next key is due, or for `ms`. Resolves early if a key was made due, or the signal is aborted. */
  async wait(
    signal: AbortSignal,
    ms: number = Math.min(...this.#dueMs.values()) - this.#clock.monotonic(),
  ): Promise<void> {
    using waiting = linkAbort(signal);
    const pause = Number.isFinite(ms)
      ? sleep(this.#clock, ms, waiting.signal).catch(() => {})
      : untilAborted(waiting.signal);
    await Promise.race([this.#woken.promise, pause]);
    waiting.abort();
  }
}
