import { type FileSystem, isMissing } from '@node-agent/host';
import { VolumeError } from '../errors.ts';
import { isMountPoint, type Mounter } from '../mount/mounter.ts';

/**
 * Removes the directory at which a driver had mounted a volume, if the driver has not done that. @throws VolumeError
 * `StillMounted`; ENOTEMPTY if the driver left files
 */
export async function removeMountPoint(
  components: {
    readonly fs: Pick<FileSystem, 'remove' | 'realpath'>;
    readonly mounter: Pick<Mounter, 'mountPoints'>;
  },
  path: string,
): Promise<void> {
  if (await isMountPoint(components, path)) throw new VolumeError('StillMounted', `${path} is still mounted`);
  await components.fs.remove(path).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
  });
}
