import type { Clock } from '@node-agent/async';
import type { ImageError } from './errors.ts';

interface Entry {
  readonly delayMs: number;
  readonly failedAtMs: number;
  readonly error: ImageError;
}

/**
 * The back-off of failed pulls, per pod and image: it doubles with each failure, whatever succeeds in between, and is forgotten after twice
 * the longest (`k8s.io/client-go/util/flowcontrol`, Backoff).
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

  /** The error of the last try and when the next may be, where it is too early for that. */
  inBackOff(key: string): { readonly error: ImageError; readonly retryAtMs: number } | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    const retryAtMs = entry.failedAtMs + entry.delayMs;
    return this.#clock.monotonic() < retryAtMs ? { error: entry.error, retryAtMs } : undefined;
  }

  /**
   * A pull failed. One that had begun when the last failure was told is the same pull, or ran beside it: containers of a pod wait for
   * one pull together, and that they are many does not make it fail more often.
   * @param beganAtMs by the monotonic clock
   */
  failed(key: string, error: ImageError, beganAtMs: number): void {
    this.#forgetOld();
    const last = this.#entries.get(key);
    if (last !== undefined && last.failedAtMs >= beganAtMs) return;
    const delayMs = this.#nextDelayMs(key);
    this.#entries.set(key, { delayMs, failedAtMs: this.#clock.monotonic(), error });
  }

  /** Keys of pods that are gone must not pile up (K4). */
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
