import { type Clock, jitter, type Random } from '@node-agent/async';

/** How the waits of a reflector grow. */
export interface ReflectorBackoffOptions {
  /** The first wait, in milliseconds. */
  readonly initialMs: number;
  /** What they grow to, doubling; the jitter comes on top and doubles it at most. */
  readonly maxMs: number;
  /** The waits begin anew where none was needed for so long. */
  readonly resetAfterMs: number;
}

/** The waits between the failures of a reflector (client-go's `wait.Backoff` with factor 2, jitter 1 and a reset). */
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

  /** How long to wait now, in milliseconds. */
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
