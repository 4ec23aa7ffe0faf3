import { numberProblem } from './check-numbers.ts';
import { OptionsError } from './options-error.ts';

interface Waiter {
  readonly grant: () => void;
}

/** Lets a limited number in at a time, first come first served. */
export class Semaphore {
  /** How many it lets in. */
  readonly limit: number;
  #active = 0;
  readonly #waiters = new Set<Waiter>();

  /** @param limit a whole number of at least 1; `Infinity` lets everybody in. @throws OptionsError for any other */
  constructor(limit: number) {
    const problem = numberProblem({ limit }, { limit: 'limit' });
    if (problem !== undefined) throw new OptionsError('Semaphore', 'limit', problem);
    this.limit = limit;
  }

  /** How many are in. */
  get active(): number {
    return this.#active;
  }

  /** How many wait to be let in. */
  get waiting(): number {
    return this.#waiters.size;
  }

  /**
   * Waits to be let in; the holder leaves by disposing of what it was given, once.
   * @throws the signal's reason, if it is aborted before
   */
  async acquire(signal?: AbortSignal): Promise<Disposable> {
    signal?.throwIfAborted();
    if (this.#active < this.limit) {
      this.#active++;
      return this.#permit();
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = { grant: resolve };
    const onAbort = (): void => {
      // Where it was let in already, the place is the caller's to give back.
      if (this.#waiters.delete(waiter)) reject(signal?.reason);
    };
    this.#waiters.add(waiter);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      await promise;
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
    return this.#permit();
  }

  /** Runs `task` once it is let in. @throws the signal's reason, if it is aborted before; what the task throws */
  async run<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    using _permit = await this.acquire(signal);
    return await task();
  }

  #permit(): Disposable {
    let held = true;
    return {
      [Symbol.dispose]: () => {
        if (held) this.#leave();
        held = false;
      },
    };
  }

  /** Hands the place to the next in line, so that nobody who comes now can take it. */
  #leave(): void {
    for (const waiter of this.#waiters) {
      this.#waiters.delete(waiter);
      waiter.grant();
      return;
    }
    this.#active--;
  }
}
