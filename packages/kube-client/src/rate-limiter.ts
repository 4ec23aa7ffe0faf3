import { type Clock, sleep } from '@node-agent/async';

/** Lets requests through one by one. */
export interface RateLimiter {
  /** Waits for the next turn and takes it. @throws the signal's reason; no turn is taken then */
  acquire(signal?: AbortSignal): Promise<void>;
}

/** How a {@link TokenBucketRateLimiter} fills. */
export interface TokenBucketOptions {
  /** Turns per second, above 0. */
  readonly qps: number;
  /** How many turns may come at once, at least 1. */
  readonly burst: number;
}

/**
 * A bucket of `burst` tokens, full at first, that fills at `qps` a second (client-go's `flowcontrol`). Who finds it empty
 * waits, first come first served; who gives up gives back what it had reserved.
 */
export class TokenBucketRateLimiter implements RateLimiter {
  readonly #clock: Pick<Clock, 'monotonic' | 'setTimer'>;
  readonly #options: TokenBucketOptions;
  #tokens: number;
  #updatedAtMs: number | undefined;

  /** @throws RangeError for a rate or burst that lets nothing through */
  constructor(components: { readonly clock: Pick<Clock, 'monotonic' | 'setTimer'> }, options: TokenBucketOptions) {
    if (!(options.qps > 0)) throw new RangeError(`qps must be above 0, not ${options.qps}`);
    if (!(options.burst >= 1)) throw new RangeError(`burst must be at least 1, not ${options.burst}`);
    this.#clock = components.clock;
    this.#options = options;
    this.#tokens = options.burst;
  }

  /** Takes a turn if there is one now. */
  tryAcquire(): boolean {
    this.#fill();
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  async acquire(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    this.#fill();
    // A debt is a place in the queue: who comes later owes more and waits longer.
    this.#tokens -= 1;
    if (this.#tokens >= 0) return;
    const waitMs = (-this.#tokens / this.#options.qps) * 1000;
    try {
      await sleep(this.#clock, waitMs, signal);
    } catch (error) {
      this.#tokens += 1;
      throw error;
    }
  }

  #fill(): void {
    const nowMs = this.#clock.monotonic();
    const { qps, burst } = this.#options;
    if (this.#updatedAtMs !== undefined) {
      this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#updatedAtMs) * qps) / 1000);
    }
    this.#updatedAtMs = nowMs;
  }
}
