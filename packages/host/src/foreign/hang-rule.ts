/** What is remembered of a place whose file system did not answer. */
export interface Suspicion {
  /** How often in a row it did not answer. */
  readonly hangs: number;
  /** Until when it is not asked again, by the monotonic clock. */
  readonly refusedUntilMs: number;
}

/** How long a place is left alone after it did not answer once; twice as long after each further time. */
const FIRST_BACK_OFF_MS = 10_000;
export const LONGEST_BACK_OFF_MS = 300_000;

/**
 * Whether a place may be asked. A place that is suspected is asked by one at a time, and only now and then: what waits for
 * a file system that is gone holds a thread, and maybe a process.
 */
export function mayAsk(suspicion: Suspicion | undefined, underWay: number, nowMs: number): boolean {
  return suspicion === undefined || (underWay === 0 && nowMs >= suspicion.refusedUntilMs);
}

/** What is remembered once a place has not answered. */
export function suspect(before: Suspicion | undefined, nowMs: number): Suspicion {
  const hangs = (before?.hangs ?? 0) + 1;
  const backOffMs = Math.min(FIRST_BACK_OFF_MS * 2 ** (hangs - 1), LONGEST_BACK_OFF_MS);
  return { hangs, refusedUntilMs: nowMs + backOffMs };
}

/** Whether a place might have been asked again for so long that it counts as any other. */
export function isOld({ refusedUntilMs }: Suspicion, nowMs: number): boolean {
  return nowMs - refusedUntilMs > LONGEST_BACK_OFF_MS;
}

/**
 * The place that a path is of: the mount point that its name is below or, where that is the root, the path itself, for a
 * link on the way may lead into any mount.
 */
export function placeOf(path: string, mountPoints: Iterable<string>): string {
  let place = '/';
  for (const point of mountPoints) {
    if (point.length > place.length && (path === point || path.startsWith(`${point}/`))) place = point;
  }
  return place === '/' ? path : place;
}
