/** Signals that request a program to end. */
export const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Runs work that ends in an orderly way after a signal. The signals do not kill the process, because a kill during the
 * clean-up would leave files and mounts behind.
 * @param work receives an AbortSignal that the first process signal aborts
 */
export async function withEndSignal<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const abort = (): void => controller.abort(new Error('interrupted by a signal'));
  for (const name of ENDING) process.on(name, abort);
  try {
    return await work(controller.signal);
  } finally {
    for (const name of ENDING) process.off(name, abort);
  }
}
