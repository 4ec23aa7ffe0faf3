const ONCE = { once: true } as const;

/** An abort signal that follows parent signals until it is disposed. */
export interface LinkedAbort extends Disposable {
  readonly signal: AbortSignal;
  /** Aborts only `signal`, not the parents. */
  abort(reason?: unknown): void;
  /** Removes the listeners from the parents, so that the parents keep no reference. Does not abort `signal`. */
  [Symbol.dispose](): void;
}

/**
 * Returns a signal that is aborted when the first of its parents is, with that parent's reason. Unlike
 * `AbortSignal.any`, the link is released at a known time: at the end of a `using` block or by calling its dispose
 * method.
 */
export function linkAbort(...parents: readonly (AbortSignal | undefined)[]): LinkedAbort {
  const controller = new AbortController();
  // All parents share one listener. Removing a listener that a parent does not have does nothing, so no list of linked
  // parents is needed.
  const onAbort = ({ target }: Event): void => abort((target as AbortSignal).reason);
  const unlink = (): void => {
    for (const parent of parents) parent?.removeEventListener('abort', onAbort);
  };
  const abort = (reason?: unknown): void => {
    unlink();
    controller.abort(reason);
  };
  const aborted = parents.find((parent) => parent?.aborted);
  if (aborted !== undefined) abort(aborted.reason);
  else for (const parent of parents) parent?.addEventListener('abort', onAbort, ONCE);
  return { signal: controller.signal, abort, [Symbol.dispose]: unlink };
}

/** Resolves once `signal` is aborted. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), ONCE);
  });
}

/**
 * Waits for `promise` until `signal` is aborted, and then rejects with the signal's reason. The promise's later result
 * is ignored. No listener is left behind.
 */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise<T>((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    const unlink = (): void => signal.removeEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, ONCE);
    promise.then(
      (value) => {
        unlink();
        resolve(value);
      },
      (error: unknown) => {
        unlink();
        reject(error);
      },
    );
  });
}
