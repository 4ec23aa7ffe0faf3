import { checkNumbers } from './check-numbers.ts';
import { type Clock, sleep, systemClock } from './clock.ts';
import { OptionsError } from './options-error.ts';

/** Fill rate of a bucket: `qps` tokens per second, up to `burst`. */
export interface TokenRate {
  readonly qps: number;
  readonly burst: number;
}

/**
 * Content of a bucket at a time of the monotonic clock. If the number of tokens is negative, waiting callers have
 * already reserved that many future tokens.
 */
export interface TokenLevel {
  readonly tokens: number;
  readonly atMs: number;
}

/** Returns the level at a later time. An `undefined` level means a new bucket, which is full. */
export function filledLevel(level: TokenLevel | undefined, { qps, burst }: TokenRate, nowMs: number): TokenLevel {
  if (level === undefined) return { tokens: burst, atMs: nowMs };
  return { tokens: Math.min(burst, level.tokens + ((nowMs - level.atMs) * qps) / 1000), atMs: nowMs };
}

/**
 * A bucket of `burst` tokens, initially full, that gains `qps` tokens per second (client-go's `flowcontrol`). Callers
 * wait in order of arrival while the bucket is empty. A caller that aborts its wait returns the token that it had
 * reserved.
 */
export class TokenBucket {
  readonly #clock: Pick<Clock, 'monotonic' | 'setTimer'>;
  readonly #rate: TokenRate;
  #level: TokenLevel | undefined;

  /** @throws OptionsError if the rate or burst is not a number or would let nothing through */
  constructor({ clock = systemClock }: { readonly clock?: Pick<Clock, 'monotonic' | 'setTimer'> }, rate: TokenRate) {
    const { qps, burst } = rate;
    checkNumbers({ qps }, { qps: 'positive' });
    if (typeof burst !== 'number' || !(burst >= 1)) {
      throw new OptionsError('TokenBucket', 'burst', `burst must be at least 1, not ${burst}`);
    }
    this.#clock = clock;
    this.#rate = rate;
  }

  /** Takes a token if one is available. @returns whether a token was taken */
  tryAcquire(): boolean {
    const level = filledLevel(this.#level, this.#rate, this.#clock.monotonic());
    this.#level = level.tokens < 1 ? level : { ...level, tokens: level.tokens - 1 };
    return this.#level !== level;
  }

  /** Waits for the next token and takes it. @throws the signal's reason; in that case, no token is taken */
  async acquire(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    // A negative level stands for the queue of waiting callers: each later caller makes the level more negative and
    // waits longer.
    const tokens = this.#add(-1);
    if (tokens >= 0) return;
    try {
      await sleep(this.#clock, (-tokens / this.#rate.qps) * 1000, signal);
    } catch (error) {
      this.#add(1);
      throw error;
    }
  }

  #add(more: number): number {
    const { tokens, atMs } = filledLevel(this.#level, this.#rate, this.#clock.monotonic());
    this.#level = { tokens: tokens + more, atMs };
    return this.#level.tokens;
  }
}
