/** Waits some milliseconds. @throws the signal's reason */
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
 * Waits until something is so, asking every now and then.
 * @param what for the error
 * @throws Error after `timeoutMs`, or the signal's reason
 */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  signal: AbortSignal,
  { everyMs = 20, timeoutMs = 120_000 }: { readonly everyMs?: number; readonly timeoutMs?: number } = {},
): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error(`waited ${timeoutMs / 1000} s in vain: ${what}`);
    await sleep(everyMs, signal);
  }
}
