/** Waits for some milliseconds. @throws the signal's reason if the signal is aborted */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

/**
 * Polls until a condition holds.
 * @param what description of the condition, for the error message
 * @throws Error after `timeoutMs`, or the signal's reason if the signal is aborted
 */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  signal: AbortSignal,
  { everyMs = 20, timeoutMs = 120_000 }: { readonly everyMs?: number; readonly timeoutMs?: number } = {},
): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > endMs) throw new Error(`timed out after ${timeoutMs / 1000} s waiting until ${what}`);
    await sleep(everyMs, signal);
  }
}

/**
 * Waits for a promise, but not longer than the timeout. Resolves with the promise's value, or with undefined after the
 * timeout.
 */
export async function within<T>(timeoutMs: number, coming: Promise<T>): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => late.resolve(undefined), timeoutMs);
  try {
    return await Promise.race([coming, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
