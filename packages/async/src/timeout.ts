import type { Clock } from './clock.ts';
import { AsyncError } from './errors.ts';

/**
 * Runs `operation` with a signal that is aborted after `timeoutMs` or when `signal` is aborted. Settles at that time at
 * the latest, even if the operation ignores its signal.
 * @throws AsyncError `Timeout` after `timeoutMs`
 * @throws the signal's reason
 * @throws the error of the operation
 */
export async function withTimeout<T>(
  clock: Pick<Clock, 'setTimer'>,
  timeoutMs: number,
  operation: (signal: AbortSignal) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  signal?.throwIfAborted();
  const controller = new AbortController();
  let end: (reason: unknown) => void = () => {};
  const ended = new Promise<never>((_resolve, reject) => {
    end = (reason) => {
      // Rejects before it aborts: an operation that rejects with `AbortError` on abort would otherwise settle before
      // the timeout error.
      reject(reason);
      controller.abort(reason);
    };
  });
  const onAbort = (): void => end(signal?.reason);
  // If the operation throws synchronously, nothing awaits `ended`. The empty handler prevents an unhandled rejection.
  ended.catch(() => {});
  const timer = clock.setTimer(timeoutMs, () => {
    end(new AsyncError('Timeout', `timed out after ${timeoutMs} ms`));
  });
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([operation(controller.signal), ended]);
  } finally {
    timer.cancel();
    signal?.removeEventListener('abort', onAbort);
  }
}
