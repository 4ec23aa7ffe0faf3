import { basename, dirname, join } from 'node:path';
import { type FileSystem, isMissing } from '@node-agent/host';

/** The host's mounts, as far as volumes need them. */
export interface Mounter {
  /**
   * What is mounted where: file system types by mount point; of several on one point, the topmost. The very map of the last
   * call says that the same is mounted at the same places.
   */
  mountPoints(): Promise<ReadonlyMap<string, string>>;
  /** @throws VolumeError `MountFailed` */
  mount(source: string, target: string, fsType: string, options: readonly string[], signal: AbortSignal): Promise<void>;
  /**
   * Mounts what is at a path, or what a handle of `holdBeneath` leads to, file or directory, on one of its kind; nothing that is mounted
   * below it. @throws VolumeError `MountFailed`
   */
  bind(source: string, target: string, signal: AbortSignal): Promise<void>;
  /** Gives one that {@link bind} made options of its own, as `ro`; the same once more change nothing. @throws VolumeError `MountFailed` */
  rebind(source: string, target: string, options: readonly string[], signal: AbortSignal): Promise<void>;
  /**
   * Unmounts what is on top at `target`. `lazy`: with all that is mounted below it, even where that is in use; where the same is
   * mounted elsewhere it stays. @throws VolumeError `MountFailed`
   */
  unmount(target: string, signal: AbortSignal, options?: { readonly lazy?: boolean }): Promise<void>;
}

/** The mount table as text, in Latin 1: it keeps paths that are no UTF-8 apart from each other. */
export async function readMountInfo(fs: Pick<FileSystem, 'readFile'>): Promise<string> {
  return Buffer.from(await fs.readFile('/proc/self/mountinfo')).toString('latin1');
}

/** The mount points at `directory` or below it. */
export async function mountPointsWithin(
  components: { readonly fs: Pick<FileSystem, 'realpath'>; readonly mounter: Pick<Mounter, 'mountPoints'> },
  directory: string,
): Promise<string[]> {
  const real = await realDirectory(components.fs, directory);
  if (real === undefined) return [];
  const points = [...(await components.mounter.mountPoints()).keys()];
  return points.filter((point) => point === real || point.startsWith(`${real}/`));
}

/** Whether something is mounted at `directory` itself. */
export async function isMountPoint(
  components: Parameters<typeof mountPointsWithin>[0],
  directory: string,
): Promise<boolean> {
  const real = await realDirectory(components.fs, directory);
  return real !== undefined && (await components.mounter.mountPoints()).has(real);
}

/** `directory` as the mount table names it: its parent may be reached through links; it itself is taken as it is. */
export async function realDirectory(fs: Pick<FileSystem, 'realpath'>, directory: string): Promise<string | undefined> {
  try {
    return join(await fs.realpath(dirname(directory)), basename(directory));
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
