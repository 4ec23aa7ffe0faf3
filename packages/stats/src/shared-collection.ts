import { abortable, type Clock, withTimeout } from '@node-agent/async';

/** A finished collection, with the monotonic time of its start. */
interface Taken<T> {
  readonly value: T;
  readonly startedAtMs: number;
}

interface Running<T> {
  readonly startedAtMs: number;
  readonly ended: Promise<Taken<T>>;
}

/** Requirements of a caller for the age of shared stats (`SharedCollection.get`). */
export interface Wanted {
  /** Whether only data collected after this call is acceptable. */
  readonly fresh?: boolean;
}

interface Options {
  /** Maximum age of a reused collection, in ms. */
  readonly maxAgeMs: number;
  /**
   * Timeout of a collection, in ms. After the timeout, the collection has failed and the next request starts another
   * one.
   */
  readonly deadlineMs: number;
}

interface Work<T> {
  collect(signal: AbortSignal): Promise<T>;
  /**
   * Returns whether a result may be reused for later requests. If absent, all results are reused. A result with a
   * missing part is only returned to the callers that waited for it.
   */
  isWhole?(value: T): boolean;
}

/**
 * Shares collections between callers. A collection is reused within its maximum age. Callers that arrive during a
 * collection share its result; callers that require fresh data share the next collection. If a caller aborts, the
 * collection continues for the other callers until its timeout.
 */
export class SharedCollection<T> {
  readonly #clock: Pick<Clock, 'monotonic' | 'setTimer'>;
  readonly #work: Work<T>;
  readonly #options: Options;
  #last: Taken<T> | undefined;
  #running: Running<T> | undefined;
  #next: Promise<Taken<T>> | undefined;

  constructor({ clock }: { readonly clock: Pick<Clock, 'monotonic' | 'setTimer'> }, options: Options, work: Work<T>) {
    this.#clock = clock;
    this.#options = options;
    this.#work = work;
  }

  /**
   * Returns the result of a recent, running or new collection. @throws AsyncError `Timeout` after the timeout; the
   * signal's reason; the error of the collection
   */
  async get({ fresh = false }: Wanted, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    return (await abortable(this.#taken(fresh), signal)).value;
  }

  /** Returns the last collection if it is recent enough. */
  peek(): T | undefined {
    const last = this.#last;
    const isYoung = last !== undefined && this.#clock.monotonic() - last.startedAtMs <= this.#options.maxAgeMs;
    return isYoung ? last.value : undefined;
  }

  #taken(fresh: boolean): Promise<Taken<T>> {
    const running = this.#running;
    if (!fresh) {
      const last = this.#last;
      if (last !== undefined && this.peek() !== undefined) return Promise.resolve(last);
      return running?.ended ?? this.#start();
    }
    // A caller that wants fresh data cannot share a running collection, which may have read the data before the call.
    if (running === undefined) return this.#start();
    this.#next ??= running.ended.then(
      () => this.#follow(),
      () => this.#follow(),
    );
    return this.#next;
  }

  #follow(): Promise<Taken<T>> {
    this.#next = undefined;
    return this.#running?.ended ?? this.#start();
  }

  #start(): Promise<Taken<T>> {
    const startedAtMs = this.#clock.monotonic();
    const ended = this.#take(startedAtMs).finally(() => {
      if (this.#running?.startedAtMs === startedAtMs) this.#running = undefined;
    });
    // The rejection is ignored here, because all callers may have aborted when the collection fails.
    ended.catch(() => {});
    this.#running = { startedAtMs, ended };
    return ended;
  }

  async #take(startedAtMs: number): Promise<Taken<T>> {
    const value = await withTimeout(this.#clock, this.#options.deadlineMs, (signal) => this.#work.collect(signal));
    const taken = { value, startedAtMs };
    this.#last = this.#work.isWhole?.(value) === false ? undefined : taken;
    return taken;
  }
}
