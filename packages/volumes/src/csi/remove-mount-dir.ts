import { dirname } from 'node:path';
import { type FileSystem, isMissing, removeUnfinishedFiles } from '@node-agent/host';
import { VolumeError } from '../errors.ts';
import { isMountPoint, type Mounter } from '../mount/mounter.ts';
import { removeVolumeData } from './volume-data.ts';

/** Dependencies of {@link removeMountDir}. */
export interface RemoveMountDirComponents {
  readonly fs: Pick<FileSystem, 'readdir' | 'remove' | 'realpath'>;
  readonly mounter: Pick<Mounter, 'mountPoints'>;
}

/**
 * Removes the directory at which a driver had mounted a volume, the data file beside it and their parent directory
 * (`removeMountDir` of `pkg/volume/csi/csi_mounter.go`). Only empty directories are removed. The mounted file system is
 * not accessed (W6).
 * @throws VolumeError `StillMounted` if the volume is mounted. Upstream forgets the volume and leaves the mount.
 * @throws ENOTEMPTY if the driver left files
 */
export async function removeMountDir(components: RemoveMountDirComponents, mountPath: string): Promise<void> {
  if (await isMountPoint(components, mountPath)) {
    throw new VolumeError('StillMounted', `${mountPath} is still mounted`);
  }
  const remove = (path: string): Promise<void> =>
    components.fs.remove(path).catch((error: unknown) => {
      if (!isMissing(error)) throw error;
    });
  await remove(mountPath);
  const directory = dirname(mountPath);
  await removeVolumeData(components.fs, directory);
  // A process that was killed while it wrote the data file may have left an incomplete temporary file.
  await removeUnfinishedFiles(components.fs, directory);
  await remove(directory);
}
