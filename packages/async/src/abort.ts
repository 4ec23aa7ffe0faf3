const ONCE = { once: true } as const;

/** A signal that follows others for as long as it is not disposed of. */
export interface LinkedAbort extends Disposable {
  readonly signal: AbortSignal;
  /** Aborts `signal` alone. */
  abort(reason?: unknown): void;
  /** Unlinks from the parents, so that they hold nothing any more; does not abort. */
  [Symbol.dispose](): void;
}

/**
 * A signal that is aborted with the reason of the first parent that is. Unlike `AbortSignal.any`, it is released at a
 * known instant: with `using`, or by calling its dispose method.
 */
export function linkAbort(...parents: readonly (AbortSignal | undefined)[]): LinkedAbort {
  const controller = new AbortController();
  // One listener for all of them, and no record of which were linked: taking it from one that has it not does nothing.
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
 * Waits for `promise`, but no longer than until `signal` is aborted: then it rejects with the signal's reason, and
 * what becomes of the promise is of no interest. No listener is left behind.
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
