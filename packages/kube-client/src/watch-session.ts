import { type Clock, type LinkedAbort, linkAbort, type Timer } from '@node-agent/async';
import { KubeError } from './errors.ts';
import type { WatchEvent } from './watch-events.ts';

/**
 * One watch, from its request to its end. The watch is aborted if the server is silent for too long. Time that the
 * caller spends on handling events does not count as silence.
 */
export class WatchSession<T> implements AsyncDisposable {
  readonly #clock: Pick<Clock, 'monotonic' | 'setTimer'>;
  readonly #limitMs: () => number;
  readonly #link: LinkedAbort;
  readonly #startedAtMs: number;
  #events: AsyncIterator<WatchEvent<T>> | undefined;
  #count = 0;
  #lastAtMs: number;
  /** Whether the session waits for the server, not for the caller. */
  #isWaiting = false;
  #timer: Timer | undefined;
  #armedForMs = 0;
  #hung: KubeError | undefined;

  /** @param limitMs returns how long the watch may be silent; called before each request and event */
  constructor(clock: Pick<Clock, 'monotonic' | 'setTimer'>, limitMs: () => number, signal: AbortSignal) {
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.#link = linkAbort(signal);
    this.#startedAtMs = clock.monotonic();
    this.#lastAtMs = this.#startedAtMs;
  }

  /** The number of events received. */
  get count(): number {
    return this.#count;
  }

  /** Whether the server has started to respond. */
  get opened(): boolean {
    return this.#events !== undefined;
  }

  /** The age of the session, in milliseconds. */
  get lastedMs(): number {
    return this.#clock.monotonic() - this.#startedAtMs;
  }

  /** Sends the request. @throws KubeError; `DeadlineExceeded` if no response starts in time */
  async open(watch: (signal: AbortSignal) => Promise<AsyncIterable<WatchEvent<T>>>): Promise<void> {
    const events = await this.#guard(() => watch(this.#link.signal));
    this.#events = events[Symbol.asyncIterator]();
  }

  /**
   * Returns the next event, or `undefined` at the end. @throws KubeError; `DeadlineExceeded` if the server is silent
   * for too long
   */
  async next(): Promise<WatchEvent<T> | undefined> {
    const events = this.#events;
    if (events === undefined) return undefined;
    const result = await this.#guard(() => events.next());
    if (result.done) return undefined;
    this.#count++;
    return result.value;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    // The request must be aborted first: a generator that waits for more bytes cannot be left otherwise.
    this.#link.abort(new KubeError({ code: 'Aborted', message: 'the watch was closed' }));
    await this.#events?.return?.().catch(() => {});
  }

  async #guard<R>(step: () => Promise<R>): Promise<R> {
    this.#lastAtMs = this.#clock.monotonic();
    this.#isWaiting = true;
    const limitMs = this.#limitMs();
    if (limitMs !== this.#armedForMs) this.#arm(limitMs, limitMs);
    try {
      return await step();
    } catch (error) {
      throw this.#hung ?? error;
    } finally {
      this.#isWaiting = false;
      this.#lastAtMs = this.#clock.monotonic();
    }
  }

  /** Uses one timer for all events: when it fires, it checks the time of the last event and re-arms if needed. */
  #arm(limitMs: number, delayMs: number): void {
    this.#timer?.cancel();
    this.#armedForMs = limitMs;
    this.#timer = this.#clock.setTimer(delayMs, () => {
      const leftMs = this.#isWaiting ? this.#lastAtMs + limitMs - this.#clock.monotonic() : limitMs;
      if (leftMs > 0) {
        this.#arm(limitMs, leftMs);
        return;
      }
      this.#hung = new KubeError({ code: 'DeadlineExceeded', message: `the watch was silent for ${limitMs} ms` });
      this.#link.abort(this.#hung);
    });
  }
}
