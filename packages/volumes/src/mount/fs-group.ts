import type { Clock } from '@node-agent/async';
import type { FileStat, FileSystem, ForeignFiles } from '@node-agent/host';
import { type Pod, podReference } from '@node-agent/pod-spec';
import { type EventRecorder, eventReasons, type Logger } from '@node-agent/telemetry';
import type { FsGroup } from './mount-context.ts';

/** Dependencies of {@link giveToGroup}. */
export interface FsGroupComponents {
  readonly fs: Pick<FileSystem, 'giveToGroup'>;
  readonly clock: Pick<Clock, 'setTimer' | 'monotonic'>;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
}

/** The volume whose group is changed. */
export interface GroupVolume {
  readonly pod: Pod;
  /** Path of the volume. */
  readonly path: string;
  /** State of the volume's root directory. */
  readonly root: Pick<FileStat, 'kind' | 'mode' | 'gid'>;
  /** Path of the volume relative to the pod's directory, for the event. */
  readonly shownAs: string;
}

/** Read, write and execute for the group, with setgid, so that new files inherit the group. */
const GROUP_DIRECTORY = 0o2770;
/** Time after which an event reports that the change takes long, in milliseconds. */
const TOLD_AFTER_MS = 30_000;
const HELP =
  'https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#configure-volume-permission-and-ownership-change-policy-for-pods';

/**
 * Returns whether the group of the volume's files must be changed. With policy `OnRootMismatch`, nothing is changed if
 * the root directory already has the group and mode (upstream: `skipPermissionChange` of `pkg/volume`).
 */
export function isForGroup({ kind, mode, gid }: GroupVolume['root'], group: FsGroup): boolean {
  if (group.policy === 'Always') return true;
  return kind !== 'directory' || gid !== group.gid || (mode & GROUP_DIRECTORY) !== GROUP_DIRECTORY;
}

/**
 * Changes the group of a PVC's volume to the pod's fsGroup, if the policy requires that. If the change takes long, the
 * pod gets an event (`pkg/volume/volume_linux.go`). Files that cannot be changed are logged and do not prevent the use
 * of the volume.
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
  const startedMs = clock.monotonic();
  let isComplete = false;
  try {
    const { failed, failure } = await fs.giveToGroup(path, group.gid);
    isComplete = failed === 0;
    if (isComplete) return;
    const fields = { podUid: pod.metadata.uid, path, gid: group.gid, failed, failure };
    logger.warn(fields, 'Failed to change the group of some files of a volume');
  } finally {
    timer.cancel();
    group.onChanged?.(isComplete, clock.monotonic() - startedMs);
  }
}

/**
 * Changes the group like {@link giveToGroup}, for volume types that can be used even if the change fails. A failure is
 * only logged. @throws the signal's reason
 */
export async function tryGiveToGroup(
  components: FsGroupComponents & { readonly foreignFiles: Pick<ForeignFiles, 'stat'> },
  volume: Omit<GroupVolume, 'root'>,
  group: FsGroup,
  signal: AbortSignal,
): Promise<void> {
  try {
    const root = await components.foreignFiles.stat(volume.path, signal);
    await giveToGroup(components, { ...volume, root }, group);
  } catch (err) {
    signal.throwIfAborted();
    components.logger.warn({ err, path: volume.path }, 'Failed to change the group of a volume');
  }
}
