import { checkComponents, checkOptions } from './check-arguments.ts';
import { type Clock, systemClock } from './clock.ts';
import { jitter, type Random } from './random.ts';

/** Growth of the delays of a {@link Backoff}. */
export interface BackoffOptions {
  /** Delay after the first failure, in milliseconds. */
  readonly initialMs: number;
  /** Longest delay, in milliseconds. */
  readonly maxMs: number;
  /** Time without a failure after which a key's delay is reset, in milliseconds. Default: twice `maxMs`. */
  readonly expireAfterMs?: number;
  /** Adds to each delay a random part of up to this factor of the delay. Default: 0. */
  readonly maxJitterFactor?: number;
}

interface Entry {
  delayMs: number;
  updatedAtMs: number;
}

/**
 * An exponential back-off per key, with the rules of client-go's `flowcontrol.Backoff`. Event times are wall clock
 * times in milliseconds since the epoch, because they come from records such as a container's finish time.
 */
export class Backoff<K = string> {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #random: Random | undefined;
  readonly #options: BackoffOptions;
  readonly #entries = new Map<K, Entry>();

  /**
   * @param components if `clock` is absent, the system clock is used; without `random`, delays have no jitter
   * @throws OptionsError that names the invalid option
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

  /** Number of keys that have a delay. */
  get size(): number {
    return this.#entries.size;
  }

  /** Returns the key's delay, in milliseconds; 0 if the key has none. */
  delayMs(key: K): number {
    return this.#entries.get(key)?.delayMs ?? 0;
  }

  /**
   * Counts a failure of the key. Doubles the delay up to the maximum, or resets it to the initial delay if the last
   * failure has expired.
   */
  next(key: K, eventTimeMs: number): void {
    const entry = this.#entries.get(key);
    const { initialMs, maxMs } = this.#options;
    const delayMs =
      entry === undefined || this.#hasExpired(entry, eventTimeMs)
        ? initialMs + this.#jitterOf(initialMs)
        : Math.min(entry.delayMs * 2 + this.#jitterOf(entry.delayMs), maxMs);
    this.#entries.set(key, { delayMs, updatedAtMs: this.#clock.now() });
  }

  /** Restores a delay that was in effect before a restart, as if {@link next} had been called at `updatedAtMs`. */
  restore(key: K, delayMs: number, updatedAtMs: number): void {
    this.#entries.set(key, { delayMs: Math.min(delayMs, this.#options.maxMs), updatedAtMs });
  }

  /** Returns the rest of the key's delay counted from `eventTimeMs`, in milliseconds; 0 if the delay has passed. */
  remainingMs(key: K, eventTimeMs: number): number {
    const entry = this.#entries.get(key);
    if (entry === undefined || this.#hasExpired(entry, eventTimeMs)) return 0;
    return Math.max(entry.delayMs - (this.#clock.now() - eventTimeMs), 0);
  }

  /** Removes the key and its delay. */
  reset(key: K): void {
    this.#entries.delete(key);
  }

  /**
   * Removes keys whose delay has expired. Must be called from time to time; otherwise the number of keys grows without
   * limit.
   */
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
