import { errorCode, type FileSystem, isMissing } from '@node-agent/host';
import { VolumeError } from '../errors.ts';
import { type Mounter, mountPointsWithin } from '../mount/mounter.ts';
import type { PodPaths } from './pod-paths.ts';
import { type VolumeOnDisk, volumesOnDisk } from './volumes-on-disk.ts';

/** Dependencies of {@link removeOrphanedPod}. */
export interface OrphanComponents {
  readonly fs: Pick<FileSystem, 'readdir' | 'remove' | 'removeAll' | 'realpath'>;
  readonly mounter: Pick<Mounter, 'mountPoints'>;
  readonly paths: PodPaths;
}

/**
 * Removes the directory of an orphaned pod (`cleanupOrphanedPodDirs` of `pkg/kubelet/kubelet_volumes.go`). The pod's
 * volumes must have been removed before: if anything is mounted in the directory, nothing is removed. Below `volumes`,
 * only empty directories are removed, never a file.
 * @throws VolumeError `StillMounted`, naming what prevents the removal
 */
export async function removeOrphanedPod(components: OrphanComponents, uid: string): Promise<void> {
  const { fs, paths } = components;
  const directory = paths.podDir(uid);
  const mounts = await mountPointsWithin(components, directory);
  if (mounts.length > 0) {
    const message = `orphaned pod "${uid}" found, but volumes are still mounted: ${mounts.join(', ')}`;
    throw new VolumeError('StillMounted', message);
  }
  for (const volume of await volumesOnDisk(fs, paths, uid)) await removeEmptyVolume(components, uid, volume);
  for (const { name } of await fs.readdir(directory)) await fs.removeAll(`${directory}/${name}`);
  await fs.remove(directory);
}

/**
 * Removes a volume directory that belongs to no plugin.
 * @throws VolumeError `StillMounted` if the directory is not empty, because another program may need the content
 */
export async function removeEmptyVolume(
  { fs, paths }: Pick<OrphanComponents, 'paths'> & { readonly fs: Pick<FileSystem, 'remove'> },
  uid: string,
  { plugin, name, isDirectory, isBlock }: VolumeOnDisk,
): Promise<void> {
  const path = `${isBlock ? paths.volumeDevicesDir(uid) : paths.volumesDir(uid)}/${plugin}/${name}`;
  if (!isDirectory)
    throw new VolumeError('StillMounted', `${path}: no volume plugin matched, and it must be a directory`);
  try {
    await fs.remove(path);
  } catch (error) {
    if (isMissing(error)) return;
    const why = errorCode(error) === 'ENOTEMPTY' ? 'it is not empty' : 'it cannot be removed';
    throw new VolumeError('StillMounted', `${path}: no volume plugin matched, and ${why}`, error);
  }
}
