import { checkNumbers } from './check-numbers.ts';
import { type Clock, sleep, systemClock } from './clock.ts';
import { OptionsError } from './options-error.ts';

/** How a bucket fills: `qps` tokens a second, up to `burst`. */
export interface TokenRate {
  readonly qps: number;
  readonly burst: number;
}

/** What is in a bucket at an instant of the monotonic clock. May be negative: a debt that is waited for. */
export interface TokenLevel {
  readonly tokens: number;
  readonly atMs: number;
}

/** The level at a later instant; a bucket that is not there yet is full. */
export function filledLevel(level: TokenLevel | undefined, { qps, burst }: TokenRate, nowMs: number): TokenLevel {
  if (level === undefined) return { tokens: burst, atMs: nowMs };
  return { tokens: Math.min(burst, level.tokens + ((nowMs - level.atMs) * qps) / 1000), atMs: nowMs };
}

/**
 * A bucket of `burst` tokens, full at first, that fills at `qps` a second (client-go's `flowcontrol`). Who finds it empty
 * waits, first come first served; who gives up gives back what it had reserved.
 */
export class TokenBucket {
  readonly #clock: Pick<Clock, 'monotonic' | 'setTimer'>;
  readonly #rate: TokenRate;
  #level: TokenLevel | undefined;

  /** @throws OptionsError for a rate or burst that lets nothing through, or is no number */
  constructor({ clock = systemClock }: { readonly clock?: Pick<Clock, 'monotonic' | 'setTimer'> }, rate: TokenRate) {
    const { qps, burst } = rate;
    checkNumbers({ qps }, { qps: 'positive' });
    if (typeof burst !== 'number' || !(burst >= 1)) {
      throw new OptionsError('TokenBucket', 'burst', `burst must be at least 1, not ${burst}`);
    }
    this.#clock = clock;
    this.#rate = rate;
  }

  /** Takes a token if there is one now. */
  tryAcquire(): boolean {
    const level = filledLevel(this.#level, this.#rate, this.#clock.monotonic());
    this.#level = level.tokens < 1 ? level : { ...level, tokens: level.tokens - 1 };
    return this.#level !== level;
  }

  /** Waits for the next token and takes it. @throws the signal's reason; no token is taken then */
  async acquire(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    // A debt is a place in the queue: who comes later owes more and waits longer.
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
