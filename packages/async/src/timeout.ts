import type { Clock } from './clock.ts';
import { AsyncError } from './errors.ts';

const ONCE = { once: true } as const;

/**
 * Runs `operation` with a signal that is aborted after `timeoutMs` or when `signal` is aborted. Settles at that time at
 * the latest, even if the operation ignores its signal.
 * @throws AsyncError `Timeout` after `timeoutMs`
 * @throws the signal's reason
 * @throws the error of the operation
 */
export function withTimeout<T>(
  clock: Pick<Clock, 'setTimer'>,
  timeoutMs: number,
  operation: (signal: AbortSignal) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  // One promise, without `Promise.race` and `finally`: this function runs several times per API request and per probe.
  return new Promise<T>((resolve, reject) => {
    signal?.throwIfAborted();
    const controller = new AbortController();
    const release = (): void => {
      timer.cancel();
      signal?.removeEventListener('abort', onAbort);
    };
    const fail = (error: unknown): void => {
      release();
      reject(error);
    };
    let hasStarted = false;
    let endedAtStart: { readonly reason: unknown } | undefined;
    const end = (reason: unknown): void => {
      // Rejects the promise before the operation's signal is aborted: an operation that rejects with `AbortError` on
      // abort would otherwise settle before the timeout error. While the operation starts, it may still throw an error
      // of its own.
      if (hasStarted) fail(reason);
      else endedAtStart = { reason };
      controller.abort(reason);
    };
    const onAbort = (): void => end(signal?.reason);
    const timer = clock.setTimer(timeoutMs, () => {
      end(new AsyncError('Timeout', `timed out after ${timeoutMs} ms`));
    });
    signal?.addEventListener('abort', onAbort, ONCE);
    let running: Promise<T>;
    try {
      running = operation(controller.signal);
    } catch (error) {
      fail(error);
      return;
    }
    hasStarted = true;
    if (endedAtStart !== undefined) fail(endedAtStart.reason);
    running.then((value) => {
      release();
      resolve(value);
    }, fail);
  });
}
