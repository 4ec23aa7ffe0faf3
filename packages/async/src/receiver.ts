import { AsyncError } from './errors.ts';

interface Waiter {
  wake(): void;
}

/**
 * The receiving end of a queue: one consumer, using `for await` or {@link take}. The producer never waits for the
 * consumer.
 */
export abstract class Receiver<T> implements AsyncIterable<T> {
  #waiter: Waiter | undefined;
  #iterating = false;
  #closed = false;

  /** Whether {@link close} was called. Values that are already queued are still yielded. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Closes the queue: no further values are accepted. A second call does nothing. */
  close(): void {
    this.#closed = true;
    this.wake();
  }

  /**
   * Waits for the next value and returns it; returns `undefined` once the queue is closed and empty.
   * @throws AsyncError `Busy` if another consumer already waits
   * @throws the signal's reason
   */
  async take(signal?: AbortSignal): Promise<T | undefined> {
    const next = await this.#next(signal);
    return next?.value;
  }

  /**
   * Yields the values until the queue is closed and empty. @throws AsyncError `Busy` if another consumer already
   * iterates; leaving the loop lets another consumer iterate
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    if (this.#iterating) throw new AsyncError('Busy', 'there is a consumer already');
    this.#iterating = true;
    try {
      for (let next = await this.#next(); next !== undefined; next = await this.#next()) yield next.value;
    } finally {
      this.#iterating = false;
    }
  }

  /** Removes and returns the next value that is ready. */
  protected abstract shift(): { readonly value: T } | undefined;

  /** Makes the waiting consumer check for values again. */
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
