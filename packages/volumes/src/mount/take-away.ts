import { type FileSystem, isMissing } from '@node-agent/host';
import { type Mounter, mountPointsWithin } from './mounter.ts';

/** Dependencies of {@link takeAway}. */
export interface TakeAwayComponents {
  readonly fs: Pick<FileSystem, 'remove' | 'realpath'>;
  readonly mounter: Pick<Mounter, 'mountPoints' | 'unmount'>;
}

/** Maximum number of stacked mounts that are unmounted. */
const MAX_MOUNTS = 16;

/**
 * Unmounts all mounts at a path and removes the path, but never its content. Does not fail if the path does not exist.
 * @throws VolumeError `MountFailed`; ENOTEMPTY if the directory has content that was not mounted; EBUSY if it is still
 * mounted
 */
export async function takeAway(components: TakeAwayComponents, target: string, signal: AbortSignal): Promise<void> {
  const { fs, mounter } = components;
  for (let mounts = 0; mounts < MAX_MOUNTS; mounts++) {
    const points = await mountPointsWithin(components, target);
    if (points.length === 0) break;
    // Mounts below the target belong to the volume. `lazy` unmounts them here; other mount points of the same file
    // systems stay.
    await mounter.unmount(target, signal, { lazy: points.length > 1 });
  }
  await fs.remove(target).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
  });
}
