import type { Dependencies } from '../dependencies.ts';
import type { PodGroups } from './pod-groups.ts';

/** Who takes away what pods leave that nobody knows any more. */
export type OrphanComponents = Pick<Dependencies, 'volumes' | 'logger' | 'userNamespaces'> & {
  readonly groups: Pick<PodGroups, 'removeOrphans'>;
};

/** Beside the loop, which waits for no disk: many files take long, a volume that is not let go takes minutes (W6). */
export function cleanUpOrphans(
  { volumes, logger, groups, userNamespaces }: OrphanComponents,
  isKnown: (uid: string) => boolean,
  signal: AbortSignal,
): void {
  volumes.cleanupOrphanedPodDirs(isKnown, signal).catch((err: unknown) => {
    // It is tried again next time.
    if (!signal.aborted) logger.error({ err }, 'Failed cleaning up orphaned pod directories');
  });
  groups.removeOrphans(isKnown, signal);
  userNamespaces?.releaseOrphans(isKnown).catch((err: unknown) => {
    if (!signal.aborted) logger.error({ err }, 'Failed cleaning up orphaned pods user namespaces');
  });
}
