import type { Clock, Timer } from '@node-agent/async';

/**
 * Time that a running start call is still waited for after it was aborted. Cancelling a call takes longer than waiting
 * for it: containerd takes two seconds to clean up after a cancelled StartContainer, and reports an exit.
 */
const ABORT_DELAY_MS = 5_000;

/** Runs a call with a signal that is aborted only some time after `signal`. */
export async function withDelayedAbort<T>(
  clock: Clock,
  signal: AbortSignal,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const late = new AbortController();
  let timer: Timer | undefined;
  const onAbort = (): void => {
    timer = clock.setTimer(ABORT_DELAY_MS, () => late.abort(signal.reason));
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await call(late.signal);
  } finally {
    timer?.cancel();
    signal.removeEventListener('abort', onAbort);
  }
}
