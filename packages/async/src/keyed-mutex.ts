import { Semaphore } from './semaphore.ts';

/** Runs one task per key at a time, in the order of the calls. Tasks of different keys do not wait for each other. */
export class KeyedMutex<K> {
  readonly #locks = new Map<K, Semaphore>();

  /** Number of keys that have a running or waiting task, for leak checks in tests. */
  get size(): number {
    return this.#locks.size;
  }

  /**
   * Runs `task` after all earlier tasks of the key. @throws the signal's reason if the signal is aborted before the
   * task starts
   * @throws the error of the task
   */
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
