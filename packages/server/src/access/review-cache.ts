import {
  abortable,
  type Clock,
  jitter,
  linkAbort,
  type Random,
  Semaphore,
  sleep,
  withTimeout,
} from '@node-agent/async';
import { ServerError } from '../errors.ts';

/** The components of {@link ReviewCache}. */
export interface ReviewCacheComponents {
  readonly clock: Clock;
  readonly random: Random;
}

export interface ReviewCacheOptions<V> {
  /** Returns how long a result is cached, in milliseconds. A result with 0 is not cached. */
  readonly ttlMs: (answer: V) => number;
  /** The maximum number of cached results; the least recently used are dropped first. Default: 4096. */
  readonly maxAnswers?: number;
  /** The maximum number of concurrent reviews. Default: 16. */
  readonly concurrency?: number;
  /** The maximum number of waiting reviews. Default: 512. If the queue is full, further reviews are rejected. */
  readonly maxWaiting?: number;
  /**
   * The maximum number of callers that wait for results, including callers of the same review. Default: 4096. Further
   * callers are rejected.
   */
  readonly maxCallers?: number;
}

/** The timeout of a review with all its retries, in milliseconds, as for upstream's shared token lookups. */
const QUESTION_MS = 30_000;
/** Retries of a review, as in upstream's `DefaultAuthWebhookRetryBackoff` (`k8s.io/apiserver/pkg/server/options`). */
const ATTEMPTS = 5;
const FIRST_PAUSE_MS = 500;
const PAUSE_FACTOR = 1.5;
const JITTER = 0.2;

interface UnderWay<V> {
  readonly answer: Promise<V>;
  waiting: number;
  giveUp(): void;
}

/**
 * Caches reviews of the API server (tokens and access). Concurrent identical reviews share one request, temporary
 * failures are retried, and limits on reviews and callers bound memory and the load on the API server.
 */
export class ReviewCache<V> {
  readonly #components: ReviewCacheComponents;
  readonly #options: Required<ReviewCacheOptions<V>>;
  /** Cached results by key, least recently used first. */
  readonly #answers = new Map<string, { readonly value: V; readonly untilMs: number }>();
  readonly #underWay = new Map<string, UnderWay<V>>();
  readonly #turns: Semaphore;
  #callers = 0;

  constructor(components: ReviewCacheComponents, options: ReviewCacheOptions<V>) {
    this.#components = components;
    this.#options = { maxAnswers: 4096, concurrency: 16, maxWaiting: 512, maxCallers: 4096, ...options };
    this.#turns = new Semaphore(this.#options.concurrency);
  }

  get size(): number {
    return this.#answers.size;
  }

  /**
   * Returns the cached result, or calls `review`.
   * @throws ServerError `TooManyReviews`; the signal's reason; the error of `review`
   */
  async ask(key: string, review: (signal: AbortSignal) => Promise<V>, signal: AbortSignal): Promise<V> {
    const known = this.#known(key);
    if (known !== undefined) return known.value;
    if (this.#callers >= this.#options.maxCallers) throw tooMany();
    const asked = this.#underWay.get(key) ?? this.#begin(key, review);
    asked.waiting++;
    this.#callers++;
    try {
      return await abortable(asked.answer, signal);
    } finally {
      asked.waiting--;
      this.#callers--;
      if (asked.waiting === 0) asked.giveUp();
    }
  }

  #known(key: string): { readonly value: V } | undefined {
    const entry = this.#answers.get(key);
    if (entry === undefined) return undefined;
    this.#answers.delete(key);
    if (this.#components.clock.monotonic() >= entry.untilMs) return undefined;
    this.#answers.set(key, entry);
    return entry;
  }

  #begin(key: string, review: (signal: AbortSignal) => Promise<V>): UnderWay<V> {
    if (this.#turns.waiting >= this.#options.maxWaiting) throw tooMany();
    const link = linkAbort();
    const answer = this.#question(key, review, link.signal).finally(() => {
      if (this.#underWay.get(key) === begun) this.#underWay.delete(key);
    });
    const begun: UnderWay<V> = {
      answer,
      waiting: 0,
      giveUp: () => {
        if (this.#underWay.get(key) === begun) this.#underWay.delete(key);
        link.abort(new ServerError('Ended', 'no caller waits for the result any more'));
      },
    };
    // Each caller handles the rejection of its own promise. Without this handler, a rejection after all callers have
    // left would be unhandled.
    answer.catch(() => {});
    this.#underWay.set(key, begun);
    return begun;
  }

  async #question(key: string, review: (signal: AbortSignal) => Promise<V>, signal: AbortSignal): Promise<V> {
    const { clock } = this.#components;
    const asking = (limited: AbortSignal) => this.#turns.run(() => this.#untilAnswered(review, limited), limited);
    const value = await withTimeout(clock, QUESTION_MS, asking, signal);
    const ttlMs = this.#options.ttlMs(value);
    if (ttlMs > 0) this.#keep(key, value, clock.monotonic() + ttlMs);
    return value;
  }

  #keep(key: string, value: V, untilMs: number): void {
    this.#answers.delete(key);
    this.#answers.set(key, { value, untilMs });
    for (const oldest of this.#answers.keys()) {
      if (this.#answers.size <= this.#options.maxAnswers) break;
      this.#answers.delete(oldest);
    }
  }

  async #untilAnswered(review: (signal: AbortSignal) => Promise<V>, signal: AbortSignal): Promise<V> {
    const { clock, random } = this.#components;
    for (let attempt = 1, pauseMs = FIRST_PAUSE_MS; ; attempt++, pauseMs *= PAUSE_FACTOR) {
      try {
        // The slot is released when all callers have left, even if `review` ignores its signal.
        return await abortable(review(signal), signal);
      } catch (error) {
        if (attempt === ATTEMPTS || !isPassing(error)) throw error;
      }
      await sleep(clock, jitter(random, pauseMs, JITTER), signal);
    }
  }
}

function tooMany(): ServerError {
  return new ServerError('TooManyReviews', 'too many requests wait for the API server to review them');
}

const PASSING: ReadonlySet<unknown> = new Set([
  'ConnectionFailed',
  'ConnectionReplaced',
  'InternalError',
  'ServerTimeout',
  'Timeout',
  'TooManyRequests',
]);

/** Returns whether a failure of the API server may be temporary (`DefaultShouldRetry`, `pkg/util/webhook`). */
function isPassing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && PASSING.has(error.code);
}
