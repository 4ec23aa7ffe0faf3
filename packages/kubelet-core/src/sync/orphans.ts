import type { Dependencies } from '../dependencies.ts';
import type { PodCgroups } from './pod-cgroups.ts';

/** Components that clean up after pods that are no longer known. */
export type OrphanComponents = Pick<Dependencies, 'volumes' | 'logger' | 'userNamespaces'> & {
  readonly podCgroups: Pick<PodCgroups, 'removeOrphans'>;
};

/**
 * Cleans up after unknown pods, outside the sync loop. The loop must not wait for disks: removing many files takes
 * long, and unmounting a busy volume can take minutes (W6).
 */
export function cleanUpOrphans(
  { volumes, logger, podCgroups, userNamespaces }: OrphanComponents,
  isKnown: (uid: string) => boolean,
  signal: AbortSignal,
): void {
  volumes.cleanupOrphanedPodDirs(isKnown, signal).catch((err: unknown) => {
    // The clean-up of the directories is retried in the next housekeeping pass.
    if (!signal.aborted) logger.error({ err }, 'Failed cleaning up orphaned pod directories');
  });
  podCgroups.removeOrphans(isKnown, signal);
  userNamespaces?.releaseOrphans(isKnown).catch((err: unknown) => {
    if (!signal.aborted) logger.error({ err }, 'Failed cleaning up orphaned pods user namespaces');
  });
}
