import { abortable } from '@node-agent/async';
import { FairSemaphore } from './fair-semaphore.ts';

/** How many pulls run at once. */
export interface PullQueueOptions {
  /** `undefined` stands for no limit; 1 is one after another (`serializeImagePulls`). */
  readonly maxParallel: number | undefined;
}

interface Pull<T> {
  readonly result: Promise<T>;
  readonly abort: AbortController;
  /** The UIDs of the pods that have asked for it. */
  readonly whose: Set<string>;
  waiting: number;
}

/** What is to be done. @param whose the UIDs of the pods that it is for: some may come while it waits */
type Work<T> = (signal: AbortSignal, whose: ReadonlySet<string>) => Promise<T>;

/**
 * Runs pulls, those of all pods by turns, no more than a limit at once, and one per key: who asks for what is being
 * pulled already gets that pull's result. A pull is aborted when all who wait for it have gone.
 */
export class PullQueue<T> {
  readonly #places: FairSemaphore;
  readonly #pulls = new Map<string, Pull<T>>();

  constructor({ maxParallel }: PullQueueOptions) {
    this.#places = new FairSemaphore(maxParallel ?? Number.POSITIVE_INFINITY);
  }

  /** @throws what `pull` throws, or the signal's reason */
  async run(key: string, podUid: string, pull: Work<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const shared = this.#pulls.get(key) ?? this.#start(key, podUid, pull);
    shared.whose.add(podUid);
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

  #start(key: string, podUid: string, pull: Work<T>): Pull<T> {
    const abort = new AbortController();
    const { signal } = abort;
    const whose = new Set([podUid]);
    const result = this.#places.run(whose, () => pull(signal, whose), signal);
    const shared: Pull<T> = { abort, whose, waiting: 0, result };
    // Everybody may have gone when it fails.
    shared.result.catch(() => {});
    this.#pulls.set(key, shared);
    const forget = (): void => {
      if (this.#pulls.get(key) === shared) this.#pulls.delete(key);
    };
    shared.result.then(forget, forget);
    return shared;
  }
}
