import { constants } from 'node:fs';
import * as fsp from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { errorCode, isMissing, systemError } from './system-error.ts';

const onLinux = process.platform === 'linux';
const DIRECTORY_ITSELF = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * Removes whatever is at `path`, with all below it, as `pkg/util/removeall` does: no mount point is entered or
 * removed, and all that can go is gone before the first error is thrown.
 *
 * On Linux each directory is held open and its entries are named through the open directory, so that a symlink
 * which takes a directory's place half-way leads nowhere; and mounts are told by their mount id, so that a bind mount
 * of the same file system is one too. Elsewhere paths and device numbers have to do.
 * @throws EBUSY, naming the mount point, where one is in the way; EINVAL for `/` and the empty path
 */
export async function removeTree(path: string): Promise<void> {
  const absolute = resolve(path);
  if (path === '' || absolute === '/') throw systemError('EINVAL', 'rm', path, 'refusing to remove this');
  let parent: OpenDirectory;
  try {
    // The parent may be reached through links: only what is named is not followed.
    parent = await OpenDirectory.open(dirname(absolute), dirname(absolute), constants.O_RDONLY | constants.O_DIRECTORY);
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  try {
    await removeEntry(parent, basename(absolute));
  } finally {
    await parent.close();
  }
}

async function removeEntry(parent: OpenDirectory, name: string): Promise<void> {
  try {
    await fsp.unlink(parent.entry(name));
    return;
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOENT') return;
    // Linux says EISDIR of a directory, POSIX and macOS EPERM.
    if (code !== 'EISDIR' && code !== 'EPERM') throw parent.explain(error, name);
    await removeDirectory(parent, name, error);
  }
}

async function removeDirectory(parent: OpenDirectory, name: string, unlinkError: unknown): Promise<void> {
  let directory: OpenDirectory;
  try {
    directory = await OpenDirectory.open(parent.entry(name), join(parent.path, name), DIRECTORY_ITSELF);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return;
    // Not a directory after all: then unlink's own error tells more.
    throw parent.explain(errorCode(error) === 'ENOTDIR' ? unlinkError : error, name);
  }
  let first: unknown;
  try {
    if (directory.mountId !== parent.mountId) {
      throw systemError('EBUSY', 'rmdir', directory.path, 'it is a mount point');
    }
    for (const child of await fsp.readdir(directory.handlePath)) {
      await removeEntry(directory, child).catch((error: unknown) => {
        first ??= error;
      });
    }
  } finally {
    await directory.close();
  }
  if (first !== undefined) throw first;
  await fsp.rmdir(parent.entry(name)).catch((error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw parent.explain(error, name);
  });
}

/** A directory held by its descriptor. */
class OpenDirectory {
  readonly path: string;
  /** A path that leads to this very directory, whatever now stands at its name. */
  readonly handlePath: string;
  readonly mountId: string;
  readonly #file: fsp.FileHandle;

  private constructor(file: fsp.FileHandle, path: string, mountId: string) {
    this.#file = file;
    this.path = path;
    this.handlePath = onLinux ? `/proc/self/fd/${file.fd}` : path;
    this.mountId = mountId;
  }

  static async open(openPath: string, path: string, flags: number): Promise<OpenDirectory> {
    const file = await fsp.open(openPath, flags);
    try {
      const { dev } = await file.stat();
      return new OpenDirectory(file, path, onLinux ? await mountIdOf(file.fd, dev) : String(dev));
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  entry(name: string): string {
    return `${this.handlePath}/${name}`;
  }

  /** The error with the path that the caller knows in place of the descriptor's. */
  explain(error: unknown, name: string): unknown {
    const code = errorCode(error);
    return code === undefined ? error : Object.assign(systemError(code, 'rm', join(this.path, name)), { cause: error });
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

async function mountIdOf(fd: number, device: number): Promise<string> {
  const info = await fsp.readFile(`/proc/self/fdinfo/${fd}`, 'latin1');
  const id = /^mnt_id:\s*(\d+)$/m.exec(info)?.[1];
  return id === undefined ? `device ${device}` : `${id} ${device}`;
}
