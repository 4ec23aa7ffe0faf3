/** The signals that tell a program to end. */
export const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Does work that a signal does not end: it is told, and ends by itself. One that came while the work takes away what it made would leave
 * the rest of it.
 * @param work its signal is aborted by the first
 */
export async function untilTold<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const tell = (): void => controller.abort(new Error('told to end'));
  for (const name of ENDING) process.on(name, tell);
  try {
    return await work(controller.signal);
  } finally {
    for (const name of ENDING) process.off(name, tell);
  }
}
