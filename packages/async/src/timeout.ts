import type { Clock } from './clock.ts';
import { AsyncError } from './errors.ts';

/**
 * Runs `operation` with a signal that is aborted after `timeoutMs`, or when `signal` is. It settles at that instant at
 * the latest, whether or not the operation listens.
 * @throws AsyncError `Timeout` after `timeoutMs`; the signal's reason; whatever the operation throws
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
      // First: an operation that rejects as soon as its signal is aborted (`AbortError`) would otherwise settle before the timeout.
      reject(reason);
      controller.abort(reason);
    };
  });
  const onAbort = (): void => end(signal?.reason);
  // An operation that throws before it gives a promise is waited for by nobody.
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
