import { numberProblem } from './check-numbers.ts';
import { OptionsError } from './options-error.ts';

interface Waiter {
  readonly grant: () => void;
}

/**
 * Limits how many callers hold a permit at the same time. Waiting callers get their permits in the order of their
 * requests.
 */
export class Semaphore {
  /** Largest number of permits that are held at the same time. */
  readonly limit: number;
  #active = 0;
  readonly #waiters = new Set<Waiter>();

  /**
   * @param limit a whole number of at least 1, or `Infinity` for no limit
   * @throws OptionsError for any other value
   */
  constructor(limit: number) {
    const problem = numberProblem({ limit }, { limit: 'limit' });
    if (problem !== undefined) throw new OptionsError('Semaphore', 'limit', problem);
    this.limit = limit;
  }

  /** Number of permits that are held now. */
  get active(): number {
    return this.#active;
  }

  /** Number of callers that wait for a permit. */
  get waiting(): number {
    return this.#waiters.size;
  }

  /**
   * Waits for a permit. The caller disposes of the returned permit once to release it.
   * @throws the signal's reason if the signal is aborted before a permit is free
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
      // If the waiter is no longer in the set, it has already got its permit, and its caller must release the permit.
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

  /**
   * Runs `task` while holding a permit.
   * @throws the signal's reason if the signal is aborted before a permit is free
   * @throws the error of the task
   */
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

  /** Passes the permit directly to the next waiter, so that a later caller cannot overtake it. */
  #leave(): void {
    for (const waiter of this.#waiters) {
      this.#waiters.delete(waiter);
      waiter.grant();
      return;
    }
    this.#active--;
  }
}
