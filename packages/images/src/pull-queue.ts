import { abortable } from '@node-agent/async';

/** How many pulls run at once. */
export interface PullQueueOptions {
  /** `undefined` stands for no limit; 1 is one after another (`serializeImagePulls`). */
  readonly maxParallel: number | undefined;
}

interface Pull<T> {
  readonly result: Promise<T>;
  readonly abort: AbortController;
  waiting: number;
}

/**
 * Runs pulls, first come first served, no more than a limit at once, and one per key: who asks for what is being
 * pulled already gets that pull's result. A pull is aborted when all who wait for it have gone.
 */
export class PullQueue<T> {
  readonly #limit: number;
  readonly #pulls = new Map<string, Pull<T>>();
  readonly #queue: (() => void)[] = [];
  #running = 0;

  constructor({ maxParallel }: PullQueueOptions) {
    this.#limit = maxParallel ?? Number.POSITIVE_INFINITY;
  }

  /** @throws what `pull` throws, or the signal's reason */
  async run(key: string, pull: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const shared = this.#pulls.get(key) ?? this.#start(key, pull);
    shared.waiting += 1;
    try {
      return await abortable(shared.result, signal);
    } finally {
      shared.waiting -= 1;
      if (shared.waiting === 0) {
        shared.abort.abort();
        if (this.#pulls.get(key) === shared) this.#pulls.delete(key);
      }
    }
  }

  #start(key: string, pull: (signal: AbortSignal) => Promise<T>): Pull<T> {
    const abort = new AbortController();
    const shared: Pull<T> = { abort, waiting: 0, result: this.#whenFree(() => pull(abort.signal), abort.signal) };
    // Everybody may have gone when it fails.
    shared.result.catch(() => {});
    this.#pulls.set(key, shared);
    const forget = (): void => {
      if (this.#pulls.get(key) === shared) this.#pulls.delete(key);
    };
    shared.result.then(forget, forget);
    return shared;
  }

  async #whenFree(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#running >= this.#limit) await new Promise<void>((resolve) => this.#queue.push(resolve));
    else this.#running += 1;
    try {
      signal.throwIfAborted();
      return await work();
    } finally {
      // The place goes to the next in line; nobody who comes in between can take it.
      const next = this.#queue.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }
}
