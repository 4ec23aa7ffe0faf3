import { basename, dirname, join } from 'node:path';
import { type FileSystem, isMissing } from '@node-agent/host';

/** Port to the mounts of the host. */
export interface Mounter {
  /**
   * Returns the file system types by mount point. If several file systems are mounted at one point, the topmost counts.
   * Returns the same map object as the last call if no mount has changed.
   */
  mountPoints(): Promise<ReadonlyMap<string, string>>;
  /**
   * Returns the mount points that show the same directory of the same file system as the mount at `path`, including
   * `path`; none if nothing is mounted there.
   */
  mountsOfSame(path: string): Promise<readonly string[]>;
  /**
   * Returns whether files on the mount of `path`, which contains no links, can have SELinux labels of their own (mount
   * option `seclabel`). If this method is absent, no file can have a label of its own.
   */
  takesLabels?(path: string): Promise<boolean>;
  /** Mounts a file system. @throws VolumeError `MountFailed` */
  mount(source: string, target: string, fsType: string, options: readonly string[], signal: AbortSignal): Promise<void>;
  /**
   * Bind-mounts a file or directory, given by path or by a handle of `holdBeneath`, without mounts below it. The target
   * must be of the same kind. @throws VolumeError `MountFailed`
   */
  bind(source: string, target: string, signal: AbortSignal): Promise<void>;
  /**
   * Sets options such as `ro` on a mount that {@link bind} made. Repeated calls with the same options change nothing.
   * @throws VolumeError `MountFailed`
   */
  rebind(source: string, target: string, options: readonly string[], signal: AbortSignal): Promise<void>;
  /**
   * Unmounts the topmost mount at `target`. With `lazy`, all mounts below it are unmounted too, even if they are in
   * use; mounts of the same file systems elsewhere stay. With `force`, requests to a server that does not respond are
   * aborted. @throws VolumeError `MountFailed`
   */
  unmount(
    target: string,
    signal: AbortSignal,
    options?: { readonly lazy?: boolean; readonly force?: boolean },
  ): Promise<void>;
}

/** Reads the mount table as Latin 1 text, which preserves paths that are not UTF-8. */
export async function readMountInfo(fs: Pick<FileSystem, 'readFile'>): Promise<string> {
  return Buffer.from(await fs.readFile('/proc/self/mountinfo')).toString('latin1');
}

/** Returns the mount points at or below `directory`. */
export async function mountPointsWithin(
  components: { readonly fs: Pick<FileSystem, 'realpath'>; readonly mounter: Pick<Mounter, 'mountPoints'> },
  directory: string,
): Promise<string[]> {
  const real = await realDirectory(components.fs, directory);
  if (real === undefined) return [];
  const points = [...(await components.mounter.mountPoints()).keys()];
  return points.filter((point) => point === real || point.startsWith(`${real}/`));
}

/** Returns whether a file system is mounted at `directory` itself. */
export async function isMountPoint(
  components: Parameters<typeof mountPointsWithin>[0],
  directory: string,
): Promise<boolean> {
  const real = await realDirectory(components.fs, directory);
  return real !== undefined && (await components.mounter.mountPoints()).has(real);
}

/**
 * Returns `directory` as the mount table names it: links in its parent path are resolved, but not the last component.
 */
export async function realDirectory(fs: Pick<FileSystem, 'realpath'>, directory: string): Promise<string | undefined> {
  try {
    return join(await fs.realpath(dirname(directory)), basename(directory));
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
