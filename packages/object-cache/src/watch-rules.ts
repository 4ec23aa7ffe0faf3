/** A watch is never idle before this time, in milliseconds. */
const MIN_IDLE_MS = 60_000;

/**
 * Returns how long an object may be unread before its watch is closed, in milliseconds. Volumes read their objects at
 * every sync of the pod, so only watches of objects used in environments are closed.
 */
export function maxIdleMsOf(syncFrequencyMs: number): number {
  return Math.max(5 * syncFrequencyMs, MIN_IDLE_MS);
}

/**
 * Returns whether a watch may be closed. A watch that has not synced yet is kept, because closing it would waste its
 * work.
 */
export function isIdle(
  watch: { readonly synced: boolean; readonly lastAccessMs: number },
  nowMs: number,
  maxIdleMs: number,
): boolean {
  return watch.synced && nowMs - watch.lastAccessMs > maxIdleMs;
}
