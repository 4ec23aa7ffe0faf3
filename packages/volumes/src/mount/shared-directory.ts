import { type FileSystem, MountTable, parseMounts } from '@node-agent/host';
import type { MountCommand } from './mount-command.ts';
import { readMountInfo } from './mounter.ts';

/** What {@link shareDirectory} works with. */
export interface SharedDirectoryComponents {
  readonly fs: Pick<FileSystem, 'readFile' | 'realpath'>;
  readonly mounter: Pick<MountCommand, 'shareOnItself'>;
}

/**
 * Sees to it that a directory is in a shared mount, so that mounts below it show in containers that have it mounted, and the other
 * way round (`mountPropagation`). Where it is not, it is mounted on itself and that is shared: the machine's own mounts stay as they
 * are (`MakeRShared` in `pkg/volume/util/hostutil`). What is mounted below it shows there still, which upstream's hides.
 * @returns whether it had to be mounted
 * @throws VolumeError `MountFailed`; Error where the mount table does not tell; system errors
 */
export async function shareDirectory(
  { fs, mounter }: SharedDirectoryComponents,
  directory: string,
  signal: AbortSignal,
): Promise<boolean> {
  const real = await fs.realpath(directory);
  const mount = new MountTable(parseMounts(await readMountInfo(fs))).of(real);
  if (mount === undefined) throw new Error(`cannot find mount point for "${real}"`);
  if (mount.isShared) return false;
  await mounter.shareOnItself(real, signal);
  return true;
}
