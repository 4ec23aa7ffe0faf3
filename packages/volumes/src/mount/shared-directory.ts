import { type FileSystem, MountTable, parseMounts } from '@node-agent/host';
import type { MountCommand } from './mount-command.ts';
import { readMountInfo } from './mounter.ts';

/** Dependencies of {@link shareDirectory}. */
export interface SharedDirectoryComponents {
  readonly fs: Pick<FileSystem, 'readFile' | 'realpath'>;
  readonly mounter: Pick<MountCommand, 'shareOnItself'>;
}

/**
 * Ensures that a directory is in a shared mount, so that mounts below it propagate to and from containers
 * (`mountPropagation`). If the mount is not shared, the directory is bind-mounted on itself and that mount is made
 * shared; the machine's other mounts are not changed (`MakeRShared` in `pkg/volume/util/hostutil`). Difference from
 * upstream: mounts below the directory stay visible; upstream's bind mount hides them.
 * @returns whether a mount was made
 * @throws VolumeError `MountFailed`; Error if the mount table does not contain the directory's mount; system errors
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
