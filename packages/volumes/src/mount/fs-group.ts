import type { Clock } from '@node-agent/async';
import type { FileStat, FileSystem } from '@node-agent/host';
import { type Pod, podReference } from '@node-agent/pod-spec';
import { type EventRecorder, eventReasons, type Logger } from '@node-agent/telemetry';
import type { FsGroup } from './mount-context.ts';

/** What {@link giveToGroup} works with. */
export interface FsGroupComponents {
  readonly fs: Pick<FileSystem, 'giveToGroup'>;
  readonly clock: Pick<Clock, 'setTimer'>;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
}

/** What is given. */
export interface GroupVolume {
  readonly pod: Pod;
  /** Where it is. */
  readonly path: string;
  /** Its own directory, as it is. */
  readonly root: Pick<FileStat, 'kind' | 'mode' | 'gid'>;
  /** What it is called to the pod's user: below the pod's directory. */
  readonly shownAs: string;
}

/** Read, write and enter for the group, which what is made in it inherits. */
const GROUP_DIRECTORY = 0o2770;
/** When a pod is told that it takes long. */
const TOLD_AFTER_MS = 30_000;
const HELP =
  'https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#configure-volume-permission-and-ownership-change-policy-for-pods';

/** Whether a volume is to be gone through, or is the group's already as its own directory shows (`skipPermissionChange` of `pkg/volume`). */
export function isForGroup({ kind, mode, gid }: GroupVolume['root'], group: FsGroup): boolean {
  if (group.policy === 'Always') return true;
  return kind !== 'directory' || gid !== group.gid || (mode & GROUP_DIRECTORY) !== GROUP_DIRECTORY;
}

/**
 * Gives what is in a claim's volume to the pod's group, where its policy asks for that; a pod that waits for it long is told
 * (`pkg/volume/volume_linux.go`). What cannot be changed is logged, and no reason not to use the volume.
 * @throws a system error
 */
export async function giveToGroup(
  { fs, clock, logger, recorder }: FsGroupComponents,
  { pod, path, root, shownAs }: GroupVolume,
  group: FsGroup,
): Promise<void> {
  if (!isForGroup(root, group)) return;
  const timer = clock.setTimer(TOLD_AFTER_MS, () => {
    const message = `Setting volume ownership for ${pod.metadata.uid}/${shownAs} is taking longer than expected, consider using OnRootMismatch - ${HELP}`;
    recorder.event(podReference(pod), 'Warning', eventReasons.volumePermissionChangeInProgress, message);
  });
  try {
    const { failed, failure } = await fs.giveToGroup(path, group.gid);
    if (failed === 0) return;
    const fields = { podUid: pod.metadata.uid, path, gid: group.gid, failed, failure };
    logger.warn(fields, "Some of a volume could not be given to its pod's group");
  } finally {
    timer.cancel();
  }
}
