/** Decision after all portals of a disk were tried: try them again, or use the paths that were found. */
export type Tried = 'again' | 'enough';

/** Number of attempts after which any number of paths suffices (`maxAttachAttempts`). */
const MAX_ATTEMPTS = 5;
/**
 * Number of paths that suffice for a multipath device from the second attempt on. The first attempt requires all paths.
 */
const ENOUGH_PATHS = 2;
const ENOUGH_ATTEMPTS = 2;

/**
 * Decides whether the portals of a disk are tried again to find more paths (`AttachDisk`). If no path was found, the
 * portals are not tried again here, because staging fails and is retried after its back-off.
 * @param attempt number of the attempt, from 1
 */
export function pathsFound(found: number, portals: number, attempt: number): Tried {
  if (found === 0 || found === portals || attempt >= MAX_ATTEMPTS) return 'enough';
  return found >= ENOUGH_PATHS && attempt >= ENOUGH_ATTEMPTS ? 'enough' : 'again';
}
