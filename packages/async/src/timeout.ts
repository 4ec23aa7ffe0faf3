import { abortable, linkAbort } from './abort.ts';
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
  using link = linkAbort(signal);
  const timer = clock.setTimer(timeoutMs, () => {
    link.abort(new AsyncError('Timeout', `timed out after ${timeoutMs} ms`));
  });
  try {
    return await abortable(operation(link.signal), link.signal);
  } finally {
    timer.cancel();
  }
}
