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

/** What {@link ReviewCache} works with. */
export interface ReviewCacheComponents {
  readonly clock: Clock;
  readonly random: Random;
}

export interface ReviewCacheOptions<V> {
  /** How long an answer is believed, in milliseconds; 0: it is not kept. */
  readonly ttlMs: (answer: V) => number;
  /** How many answers are kept, the least recently used go first; 4096 by default. */
  readonly maxAnswers?: number;
  /** How many questions are asked at a time; 16 by default. */
  readonly concurrency?: number;
  /** How many wait for that; 512 by default. Whoever comes then is refused. */
  readonly maxWaiting?: number;
  /** How many callers wait for answers, of the same question too; 4096 by default. Whoever comes then is refused. */
  readonly maxCallers?: number;
}

/** How long a question may take with all its retries, as upstream's shared look-ups of tokens. */
const QUESTION_MS = 30_000;
/** `DefaultAuthWebhookRetryBackoff`, `k8s.io/apiserver/pkg/server/options`. */
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
 * Answers of the API server about who may do what, each believed for a time. The same is not asked twice at once; what
 * failed by the way is asked again; and a flood of questions neither fills the memory nor keeps the API server busy.
 */
export class ReviewCache<V> {
  readonly #components: ReviewCacheComponents;
  readonly #options: Required<ReviewCacheOptions<V>>;
  /** In order of their last use. */
  readonly #answers = new Map<string, { readonly value: V; readonly untilMs: number }>();
  readonly #underWay = new Map<string, UnderWay<V>>();
  readonly #turns: Semaphore;
  #callers = 0;

  constructor(components: ReviewCacheComponents, options: ReviewCacheOptions<V>) {
    this.#components = components;
    this.#options = { maxAnswers: 4096, concurrency: 16, maxWaiting: 512, maxCallers: 4096, ...options };
    this.#turns = new Semaphore(this.#options.concurrency);
  }

  /** How many answers are kept. */
  get size(): number {
    return this.#answers.size;
  }

  /**
   * The answer that is believed still, or what `review` says.
   * @throws ServerError `TooManyReviews`; the signal's reason; what `review` throws
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
        link.abort(new ServerError('Ended', 'nobody waits for the answer any more'));
      },
    };
    // Whoever asked hears of it; where nobody waits any more, nobody needs to.
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
        // Its turn is over when nobody waits, whether or not it listens.
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

/** Whether an error of the API server may be gone by the next time (`DefaultShouldRetry`, `pkg/util/webhook`). */
function isPassing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && PASSING.has(error.code);
}
