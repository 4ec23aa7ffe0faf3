import { type FileSystem, isMissing } from '@node-agent/host';
import { type Mounter, mountPointsWithin } from './mounter.ts';

/** What {@link takeAway} works with. */
export interface TakeAwayComponents {
  readonly fs: Pick<FileSystem, 'remove' | 'realpath'>;
  readonly mounter: Pick<Mounter, 'mountPoints' | 'unmount'>;
}

/** So many mounts on one another are taken away from a name. */
const MAX_MOUNTS = 16;

/**
 * Unmounts what is mounted at a name, and removes that; never anything that is in it. No error where it is not there.
 * @throws VolumeError `MountFailed`; ENOTEMPTY where something is in it that was not mounted, EBUSY where it is mounted still
 */
export async function takeAway(components: TakeAwayComponents, target: string, signal: AbortSignal): Promise<void> {
  const { fs, mounter } = components;
  for (let mounts = 0; mounts < MAX_MOUNTS; mounts++) {
    const points = await mountPointsWithin(components, target);
    if (points.length === 0) break;
    // What is mounted below came from the volume, where it is to stay.
    await mounter.unmount(target, signal, { lazy: points.length > 1 });
  }
  await fs.remove(target).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
  });
}
