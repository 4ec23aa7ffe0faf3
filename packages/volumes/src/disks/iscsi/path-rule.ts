/** Decision after all portals of a disk were tried: try them again, or use the paths that were found. */
export type Tried = 'again' | 'enough';

/** Attempts after which the found paths are used, however few (`maxAttachAttempts`). */
const MAX_ATTEMPTS = 5;
/** Number of paths that suffice for a multipath device. From the second attempt on, fewer than all paths suffice. */
const ENOUGH_PATHS = 2;
const ENOUGH_ATTEMPTS = 2;

/**
 * Decides whether more paths to a disk are tried (`AttachDisk`). If no path was found, the portals are not tried again
 * here: staging fails and is retried with its back-off.
 * @param attempt number of the attempt, from 1
 */
export function pathsFound(found: number, portals: number, attempt: number): Tried {
  if (found === 0 || found === portals || attempt >= MAX_ATTEMPTS) return 'enough';
  return found >= ENOUGH_PATHS && attempt >= ENOUGH_ATTEMPTS ? 'enough' : 'again';
}
