/** State of a place ({@link placeOf}) whose file system did not respond. */
export interface Suspicion {
  /** Number of consecutive calls without a response. */
  readonly hangs: number;
  /** Time of the monotonic clock until which no call is made. */
  readonly refusedUntilMs: number;
}

/**
 * Delay after the first call that a file system did not respond, before the next call to the same file system. Each
 * further unanswered call doubles the delay.
 */
const FIRST_BACK_OFF_MS = 10_000;
export const LONGEST_BACK_OFF_MS = 300_000;

/**
 * Returns whether a call may be made to a place. A suspected place gets one call at a time, and only after the delay: a
 * call that waits for a dead file system occupies a thread and possibly a process.
 */
export function mayAsk(suspicion: Suspicion | undefined, underWay: number, nowMs: number): boolean {
  return suspicion === undefined || (underWay === 0 && nowMs >= suspicion.refusedUntilMs);
}

/** Returns the state after a call without a response. */
export function suspect(before: Suspicion | undefined, nowMs: number): Suspicion {
  const hangs = (before?.hangs ?? 0) + 1;
  const backOffMs = Math.min(FIRST_BACK_OFF_MS * 2 ** (hangs - 1), LONGEST_BACK_OFF_MS);
  return { hangs, refusedUntilMs: nowMs + backOffMs };
}

/** Returns whether the last unanswered call is so long ago that the place no longer counts as suspected. */
export function isOld({ refusedUntilMs }: Suspicion, nowMs: number): boolean {
  return nowMs - refusedUntilMs > LONGEST_BACK_OFF_MS;
}

/**
 * Returns the place of a path: the longest mount point above it. For the root mount, the place is the path itself,
 * because a symlink in the path may lead into any mount.
 */
export function placeOf(path: string, mountPoints: Iterable<string>): string {
  let place = '/';
  for (const point of mountPoints) {
    if (point.length > place.length && (path === point || path.startsWith(`${point}/`))) place = point;
  }
  return place === '/' ? path : place;
}
