import { abortable } from '@node-agent/async';
import { FairSemaphore } from './fair-semaphore.ts';

/** Limit of concurrent pulls. */
export interface PullQueueOptions {
  /**
   * Maximum number of concurrent pulls. `undefined` means no limit; 1 runs pulls one after another
   * (`serializeImagePulls`).
   */
  readonly maxParallel: number | undefined;
}

interface Pull<T> {
  readonly result: Promise<T>;
  readonly abort: AbortController;
  /** UIDs of the pods that have requested the pull. */
  readonly whose: Set<string>;
  waiting: number;
}

/** A pull. @param whose UIDs of the pods that need the pull; UIDs may be added during the wait */
type Work<T> = (signal: AbortSignal, whose: ReadonlySet<string>) => Promise<T>;

/**
 * Runs pulls with a limit of concurrent pulls and the pods taking turns. There is one pull per key: a request for a
 * pull that is already queued or running shares its result. A pull is aborted when all its requesters have aborted.
 */
export class PullQueue<T> {
  readonly #places: FairSemaphore;
  readonly #pulls = new Map<string, Pull<T>>();

  constructor({ maxParallel }: PullQueueOptions) {
    this.#places = new FairSemaphore(maxParallel ?? Number.POSITIVE_INFINITY);
  }

  /** Starts a pull, or joins the pull with the same key. @throws the error of `pull`, or the signal's reason */
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
    // If all requesters have aborted, no caller handles the rejection of the pull.
    shared.result.catch(() => {});
    this.#pulls.set(key, shared);
    const forget = (): void => {
      if (this.#pulls.get(key) === shared) this.#pulls.delete(key);
    };
    shared.result.then(forget, forget);
    return shared;
  }
}
