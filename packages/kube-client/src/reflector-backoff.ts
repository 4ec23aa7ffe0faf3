import { type Clock, jitter, type Random } from '@node-agent/async';

/** The options of {@link ReflectorBackoff}. */
export interface ReflectorBackoffOptions {
  /** The first delay, in milliseconds. */
  readonly initialMs: number;
  /**
   * The limit of the doubling delay, in milliseconds. Jitter is added to the limited delay, and can at most double it.
   */
  readonly maxMs: number;
  /** The delay returns to `initialMs` if no delay was requested for this long, in milliseconds. */
  readonly resetAfterMs: number;
}

/** The delays between failures of a reflector (client-go's `wait.Backoff` with factor 2, jitter 1 and a reset). */
export class ReflectorBackoff {
  readonly #components: { readonly clock: Pick<Clock, 'monotonic'>; readonly random: Random };
  readonly #options: ReflectorBackoffOptions;
  #nextMs: number;
  #lastAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    components: { readonly clock: Pick<Clock, 'monotonic'>; readonly random: Random },
    options: ReflectorBackoffOptions,
  ) {
    this.#components = components;
    this.#options = options;
    this.#nextMs = options.initialMs;
  }

  /** Returns the delay for this failure, in milliseconds. */
  next(): number {
    const { clock, random } = this.#components;
    const { initialMs, maxMs, resetAfterMs } = this.#options;
    const nowMs = clock.monotonic();
    if (nowMs - this.#lastAtMs > resetAfterMs) this.#nextMs = initialMs;
    this.#lastAtMs = nowMs;
    const delayMs = jitter(random, this.#nextMs, 1);
    this.#nextMs = Math.min(this.#nextMs * 2, maxMs);
    return delayMs;
  }
}
