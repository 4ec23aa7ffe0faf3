import { AsyncError } from './errors.ts';

interface Waiter {
  wake(): void;
}

/**
 * The receiving end of something that yields values: one consumer, by `for await` or by {@link take}. What yields them
 * never waits for the consumer.
 */
export abstract class Receiver<T> implements AsyncIterable<T> {
  #waiter: Waiter | undefined;
  #iterating = false;
  #closed = false;

  /** Whether {@link close} was called: what is there already is still yielded, then the end. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Ends it: nothing is accepted any more. Calling it twice does nothing. */
  close(): void {
    this.#closed = true;
    this.wake();
  }

  /**
   * The next value, as soon as there is one; `undefined` once it is closed and empty.
   * @throws AsyncError `Busy` where somebody waits already; the signal's reason
   */
  async take(signal?: AbortSignal): Promise<T | undefined> {
    const next = await this.#next(signal);
    return next?.value;
  }

  /** @throws AsyncError `Busy` where somebody iterates already; leaving the loop makes room for another */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    if (this.#iterating) throw new AsyncError('Busy', 'there is a consumer already');
    this.#iterating = true;
    try {
      for (let next = await this.#next(); next !== undefined; next = await this.#next()) yield next.value;
    } finally {
      this.#iterating = false;
    }
  }

  /** Removes the next value that is ready and gives it. */
  protected abstract shift(): { readonly value: T } | undefined;

  /** Tells the consumer to look again. */
  protected wake(): void {
    this.#waiter?.wake();
  }

  async #next(signal?: AbortSignal): Promise<{ readonly value: T } | undefined> {
    if (this.#waiter !== undefined) throw new AsyncError('Busy', 'there is a consumer already');
    for (;;) {
      signal?.throwIfAborted();
      const ready = this.shift();
      if (ready !== undefined || this.#closed) return ready;
      await this.#wait(signal);
    }
  }

  async #wait(signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const onAbort = (): void => resolve();
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#waiter = { wake: resolve };
    try {
      await promise;
    } finally {
      this.#waiter = undefined;
      signal?.removeEventListener('abort', onAbort);
    }
  }
}
