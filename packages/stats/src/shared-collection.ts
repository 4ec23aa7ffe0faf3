import { abortable, type Clock, withTimeout } from '@node-agent/async';

/** What was collected, and when that began, by the monotonic clock. */
interface Taken<T> {
  readonly value: T;
  readonly startedAtMs: number;
}

interface Running<T> {
  readonly startedAtMs: number;
  readonly ended: Promise<Taken<T>>;
}

/** What is asked of a collection. */
export interface Wanted {
  /** Nothing older will do: only what is collected from now on. */
  readonly fresh?: boolean;
}

interface Options {
  /** How old an answer may be. */
  readonly maxAgeMs: number;
  /** A collection that takes longer has failed, and the next one begins anew. */
  readonly deadlineMs: number;
}

interface Work<T> {
  collect(signal: AbortSignal): Promise<T>;
  /** Whether it may serve those who ask later; all do where absent. One that lacks a part serves those who wait for it alone. */
  isWhole?(value: T): boolean;
}

/**
 * One collection serves all that ask within its age. Those who ask while one goes on share it; those who want a fresh one share
 * the next. It is nobody's own: who asked may go away, and it goes on for the others, until its deadline.
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

  /** @throws AsyncError `Timeout` past the deadline; the signal's reason; what the collection throws */
  async get({ fresh = false }: Wanted, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    return (await abortable(this.#taken(fresh), signal)).value;
  }

  /** What there is, where it is young enough. */
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
    // One that began before now may have read before what the caller wants to see.
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
    // Whoever asked may be gone when it fails.
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
