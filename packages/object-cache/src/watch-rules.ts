/** Below this many milliseconds no watch is idle. */
const MIN_IDLE_MS = 60_000;

/**
 * For how long nobody has to ask for an object before its watch is closed, in milliseconds. Volumes ask at every sync of
 * their pod, so what is closed are the watches of objects for environments alone.
 */
export function maxIdleMsOf(syncFrequencyMs: number): number {
  return Math.max(5 * syncFrequencyMs, MIN_IDLE_MS);
}

/** Whether a watch may be closed; not one that has not heard of its object yet, as its work would be lost. */
export function isIdle(
  watch: { readonly synced: boolean; readonly lastAccessMs: number },
  nowMs: number,
  maxIdleMs: number,
): boolean {
  return watch.synced && nowMs - watch.lastAccessMs > maxIdleMs;
}
