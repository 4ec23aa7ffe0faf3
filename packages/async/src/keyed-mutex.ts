import { Semaphore } from './semaphore.ts';

/** Runs one task per key at a time, in the order in which they came; keys do not wait for each other. */
export class KeyedMutex<K> {
  readonly #locks = new Map<K, Semaphore>();

  /** How many keys have a task, running or waiting: a leak check for tests. */
  get size(): number {
    return this.#locks.size;
  }

  /** @throws the signal's reason, if it is aborted before the task's turn; what the task throws */
  async run<T>(key: K, task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const lock = this.#locks.get(key) ?? new Semaphore(1);
    this.#locks.set(key, lock);
    try {
      return await lock.run(task, signal);
    } finally {
      if (lock.active === 0 && lock.waiting === 0) this.#locks.delete(key);
    }
  }
}
