import { lstat, mkdir, readFile, realpath, rmdir, unlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isMissing, parseMounts } from '@node-agent/host';
import { run } from './commands.ts';

/** Returns whether something is mounted at a path. */
export async function isMounted(path: string): Promise<boolean> {
  const mounts = parseMounts(await readFile('/proc/self/mountinfo', 'latin1'));
  const parent = await realpath(dirname(path)).catch(() => dirname(path));
  const place = join(parent, basename(path));
  return mounts.some(({ point }) => point === place);
}

/** Returns whether there is a file, directory or anything else at a path. */
export async function pathExists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** Creates a directory, or an empty file for a block device, as a mount point. */
export async function makeMountPoint(path: string, type: 'directory' | 'file'): Promise<void> {
  if (type === 'directory') {
    await mkdir(path, { recursive: true, mode: 0o750 });
    return;
  }
  await mkdir(dirname(path), { recursive: true, mode: 0o750 });
  await writeFile(path, '', { flag: 'a', mode: 0o640 });
}

/**
 * Binds a directory or device to a mount point. Flags need a second call of mount, because the kernel ignores them when
 * it binds.
 */
export async function bindMount(source: string, target: string, flags: readonly string[]): Promise<void> {
  await run('mount', '--bind', source, target);
  if (flags.length === 0) return;
  try {
    await run('mount', '-o', ['remount', 'bind', ...flags].join(','), target);
  } catch (error) {
    await run('umount', target);
    throw error;
  }
}

/** Mounts the file system of a device. */
export async function mountDevice(
  device: string,
  target: string,
  fsType: string,
  flags: readonly string[],
): Promise<void> {
  // The copy of an XFS image has the file system ID of the original, which may be mounted, too.
  const options = [...flags, ...(fsType === 'xfs' ? ['nouuid'] : [])];
  await run('mount', '-t', fsType, ...(options.length > 0 ? ['-o', options.join(',')] : []), device, target);
}

/** Unmounts everything at a path. */
export async function unmountAll(path: string): Promise<void> {
  while (await isMounted(path)) await run('umount', path);
}

/** Removes a mount point: an empty file or an empty directory. A missing mount point is not an error. */
export async function removeMountPoint(path: string): Promise<void> {
  try {
    const isDirectory = (await lstat(path)).isDirectory();
    await (isDirectory ? rmdir(path) : unlink(path));
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}
