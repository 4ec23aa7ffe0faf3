import { checkComponents, checkOptions } from './check-arguments.ts';
import { type Clock, systemClock } from './clock.ts';
import { jitter, type Random } from './random.ts';

/** How a {@link Backoff} grows. */
export interface BackoffOptions {
  /** The delay after the first failure. */
  readonly initialMs: number;
  /** The longest delay. */
  readonly maxMs: number;
  /** After how long without a failure a key starts afresh; twice `maxMs` by default. */
  readonly expireAfterMs?: number;
  /** Makes each delay longer by a random part of up to this many times itself; 0 by default. */
  readonly maxJitterFactor?: number;
}

interface Entry {
  delayMs: number;
  updatedAtMs: number;
}

/**
 * An exponential back-off per key, with the rules of client-go's `flowcontrol.Backoff`. Event times are the wall
 * clock's, in milliseconds since the epoch, because they come from records (when a container finished).
 */
export class Backoff<K = string> {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #random: Random | undefined;
  readonly #options: BackoffOptions;
  readonly #entries = new Map<K, Entry>();

  /**
   * @param components the machine's clock where absent; delays are not jittered without `random`
   * @throws OptionsError naming the option that is wrong
   */
  constructor(components: { readonly clock?: Pick<Clock, 'now'>; readonly random?: Random }, options: BackoffOptions) {
    checkOptions('Backoff', options, {
      initialMs: 'notNegative',
      maxMs: 'notNegative',
      expireAfterMs: 'notNegative?',
      maxJitterFactor: 'notNegative?',
    });
    checkComponents('Backoff', components, {});
    this.#clock = components.clock ?? systemClock;
    this.#random = components.random;
    this.#options = options;
  }

  /** How many keys it knows. */
  get size(): number {
    return this.#entries.size;
  }

  /** The key's delay, in milliseconds; 0 where it has none. */
  delayMs(key: K): number {
    return this.#entries.get(key)?.delayMs ?? 0;
  }

  /** Counts a failure: doubles the delay, up to the maximum, or starts afresh where the last one was long ago. */
  next(key: K, eventTimeMs: number): void {
    const entry = this.#entries.get(key);
    const { initialMs, maxMs } = this.#options;
    const delayMs =
      entry === undefined || this.#hasExpired(entry, eventTimeMs)
        ? initialMs + this.#jitterOf(initialMs)
        : Math.min(entry.delayMs * 2 + this.#jitterOf(entry.delayMs), maxMs);
    this.#entries.set(key, { delayMs, updatedAtMs: this.#clock.now() });
  }

  /** Puts a delay in place that was seen before a restart, as if {@link next} had been called at `updatedAtMs`. */
  restore(key: K, delayMs: number, updatedAtMs: number): void {
    this.#entries.set(key, { delayMs: Math.min(delayMs, this.#options.maxMs), updatedAtMs });
  }

  /** How much of the key's delay is left, counted from `eventTimeMs`: 0 where it is over. */
  remainingMs(key: K, eventTimeMs: number): number {
    const entry = this.#entries.get(key);
    if (entry === undefined || this.#hasExpired(entry, eventTimeMs)) return 0;
    return Math.max(entry.delayMs - (this.#clock.now() - eventTimeMs), 0);
  }

  /** Forgets the key. */
  reset(key: K): void {
    this.#entries.delete(key);
  }

  /** Forgets keys that start afresh anyway; to be called from time to time, or the keys pile up. */
  collectGarbage(): void {
    const nowMs = this.#clock.now();
    for (const [key, entry] of this.#entries) if (this.#hasExpired(entry, nowMs)) this.#entries.delete(key);
  }

  #hasExpired(entry: Entry, eventTimeMs: number): boolean {
    return eventTimeMs - entry.updatedAtMs > (this.#options.expireAfterMs ?? this.#options.maxMs * 2);
  }

  #jitterOf(delayMs: number): number {
    const factor = this.#options.maxJitterFactor ?? 0;
    return this.#random === undefined || factor <= 0 ? 0 : jitter(this.#random, delayMs, factor) - delayMs;
  }
}
