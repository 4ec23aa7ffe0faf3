/** Waits until all operations have ended, so that none continues after an error. @throws the error of the first that failed */
export async function allDone(operations: readonly Promise<unknown>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(operations)) if (outcome.status === 'rejected') throw outcome.reason;
}
