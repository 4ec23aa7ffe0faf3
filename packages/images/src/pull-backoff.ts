import type { Clock } from '@node-agent/async';
import type { ImageError } from './errors.ts';

interface Entry {
  readonly delayMs: number;
  readonly failedAtMs: number;
  readonly error: ImageError;
}

/**
 * Back-off of failed pulls per pod and image. The delay doubles with each failure, even if a pull succeeds in between,
 * and expires after twice the longest delay (`k8s.io/client-go/util/flowcontrol`, Backoff).
 */
export class PullBackoff {
  readonly #clock: Clock;
  readonly #initialMs: number;
  readonly #maxMs: number;
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock, { initialMs, maxMs }: { readonly initialMs: number; readonly maxMs: number }) {
    this.#clock = clock;
    this.#initialMs = initialMs;
    this.#maxMs = maxMs;
  }

  /** Returns the error of the last attempt and the time of the next one; `undefined` if a pull may start now. */
  inBackOff(key: string): { readonly error: ImageError; readonly retryAtMs: number } | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    const retryAtMs = entry.failedAtMs + entry.delayMs;
    return this.#clock.monotonic() < retryAtMs ? { error: entry.error, retryAtMs } : undefined;
  }

  /**
   * Records a failed pull. A failed pull that started before the last recorded failure counts as the same failure.
   * Several containers of a pod may share a pull or pull in parallel, and the number of containers must not increase
   * the delay.
   * @param beganAtMs start of the pull on the monotonic clock
   */
  failed(key: string, error: ImageError, beganAtMs: number): void {
    this.#forgetOld();
    const last = this.#entries.get(key);
    if (last !== undefined && last.failedAtMs >= beganAtMs) return;
    const delayMs = this.#nextDelayMs(key);
    this.#entries.set(key, { delayMs, failedAtMs: this.#clock.monotonic(), error });
  }

  /** Removes expired keys, so that the keys of deleted pods do not accumulate (K4). */
  #forgetOld(): void {
    const nowMs = this.#clock.monotonic();
    for (const [key, entry] of this.#entries) {
      if (nowMs - entry.failedAtMs > 2 * this.#maxMs) this.#entries.delete(key);
    }
  }

  #nextDelayMs(key: string): number {
    const before = this.#entries.get(key);
    return before === undefined ? this.#initialMs : Math.min(before.delayMs * 2, this.#maxMs);
  }
}
