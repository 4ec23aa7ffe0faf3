/** Waits until all promises have settled, so that nothing continues after the call. @throws the first error in the list */
export async function allOf(work: readonly Promise<unknown>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(work)) if (outcome.status === 'rejected') throw outcome.reason;
}
