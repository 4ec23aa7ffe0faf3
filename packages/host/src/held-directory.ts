import { randomBytes } from 'node:crypto';
import { close, constants, type Dir, open, type Stats } from 'node:fs';
import * as fsp from 'node:fs/promises';
import { promisify } from 'node:util';
import { bytesOfText, textOfLatin1 } from './byte-names.ts';
import { mountIdOf, O_PATH, onLinux } from './mount-id.ts';
import { errorCode, systemError } from './system-error.ts';
import type { EntryMeasure, HeldDirectory, TreeEntry, TreeFailure } from './tree-removal.ts';

// Raw descriptors are used for directories, because Node's file handles cost more than the calls.
const openDescriptor = promisify(open);
const closeDescriptor = promisify(close);

/** Number of directory entries read at a time. */
export const PORTION = 256;

/** Returns a unique name for a directory into which entries are moved. */
export function spareName(): string {
  return `.removing-${randomBytes(8).toString('hex')}`;
}

/**
 * A directory held by its descriptor, for trees that this process removes with one thread pool call at a time. Entries
 * are addressed through the open directory, so that a symlink that replaces the directory has no effect. Names are the
 * entries' bytes as Latin 1 strings.
 */
export class NodeHeldDirectory implements HeldDirectory {
  readonly path: string;
  readonly handle: string;
  readonly #fd: number;
  readonly #mountId: string;
  #names: Dir | undefined;
  #isAtEnd = false;
  #isClosed = false;

  private constructor(fd: number, path: string, opened: string | Buffer) {
    this.#fd = fd;
    this.path = path;
    this.#mountId = mountIdOf(fd);
    this.handle = onLinux ? `/proc/self/fd/${fd}` : textOfLatin1(Buffer.from(opened).toString('latin1'));
  }

  /**
   * @param opened path that is opened; symlinks in it are followed if `flags` allow it
   * @param path path for error messages
   */
  static async open(opened: string | Buffer, path: string, flags = 0): Promise<NodeHeldDirectory> {
    const fd = await openDescriptor(opened, constants.O_RDONLY | constants.O_DIRECTORY | flags);
    try {
      return new NodeHeldDirectory(fd, path, opened);
    } catch (error) {
      await closeDescriptor(fd);
      throw error;
    }
  }

  async next(): Promise<readonly TreeEntry[]> {
    if (this.#isAtEnd) return [];
    this.#names ??= await fsp.opendir(this.handle, { encoding: 'latin1', bufferSize: PORTION });
    const entries: TreeEntry[] = [];
    while (entries.length < PORTION) {
      const entry = await this.#names.read();
      if (entry === null) {
        this.#isAtEnd = true;
        break;
      }
      entries.push({ name: entry.name, isDirectory: entry.isDirectory() });
    }
    return entries;
  }

  async unlink(names: readonly string[]): Promise<readonly TreeFailure[]> {
    const failures: TreeFailure[] = [];
    for (const name of names) {
      try {
        await fsp.unlink(this.#entry(name));
      } catch (error) {
        if (errorCode(error) !== 'ENOENT') failures.push({ name, error: this.#explain(error, name) });
      }
    }
    return failures;
  }

  async removeDirectory(name: string): Promise<void> {
    await fsp.rmdir(this.#entry(name)).catch((error: unknown) => {
      // ENOTEMPTY is frequent, and only the tree walk handles it, so no message with the path is made.
      throw errorCode(error) === 'ENOTEMPTY' ? error : this.#explain(error, name);
    });
  }

  async enter(name: string): Promise<HeldDirectory> {
    const path = this.#pathOf(name);
    let directory: NodeHeldDirectory;
    try {
      directory = await NodeHeldDirectory.open(this.#entry(name), path, constants.O_NOFOLLOW);
    } catch (error) {
      throw this.#explain(error, name);
    }
    if (directory.#mountId === this.#mountId) return directory;
    await directory.close();
    throw isMountPoint(path);
  }

  async measure(name: string): Promise<EntryMeasure | undefined> {
    if (!onLinux) return measured(() => fsp.lstat(this.#entry(name)));
    let file: fsp.FileHandle;
    try {
      // With O_PATH the kernel determines the mount without calling a mounted file system that may never respond.
      file = await fsp.open(this.#entry(name), O_PATH | constants.O_NOFOLLOW);
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return undefined;
      throw this.#explain(error, name);
    }
    try {
      return mountIdOf(file.fd) === this.#mountId ? await measured(() => file.stat()) : undefined;
    } finally {
      await file.close();
    }
  }

  async makeDirectory(): Promise<string> {
    const name = spareName();
    await fsp.mkdir(this.#entry(name), { mode: 0o700 });
    return name;
  }

  async moveInto(name: string, root: HeldDirectory, directory: string): Promise<void> {
    await fsp.rename(this.#entry(name), `${root.handle}/${directory}/${spareName()}`).catch((error: unknown) => {
      throw this.#explain(error, name);
    });
  }

  async close(): Promise<void> {
    // After the first close, another file may have the same descriptor.
    if (this.#isClosed) return;
    this.#isClosed = true;
    await Promise.all([this.#names?.close(), closeDescriptor(this.#fd)]);
  }

  #entry(name: string): Buffer {
    return Buffer.concat([Buffer.from(bytesOfText(this.handle)), Buffer.from(`/${name}`, 'latin1')]);
  }

  #pathOf(name: string): string {
    return `${this.path === '/' ? '' : this.path}/${textOfLatin1(name)}`;
  }

  #explain(error: unknown, name: string): unknown {
    return explained(error, this.#pathOf(name));
  }
}

/** Returns the size from a `stat` call; `undefined` if the entry no longer exists. */
async function measured(stat: () => Promise<Stats>): Promise<EntryMeasure | undefined> {
  try {
    return measureOf(await stat());
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Returns the allocated size, from the block count of stat(2). */
export function measureOf({ blocks, ino, nlink }: Stats): EntryMeasure {
  return { bytes: blocks * 512, inode: ino, links: nlink };
}

/** Replaces the descriptor path in an error with the path that the caller knows. */
export function explained(error: unknown, path: string): unknown {
  const code = errorCode(error);
  if (code === undefined) return error;
  if (code === 'EBUSY') return isMountPoint(path);
  return Object.assign(systemError(code, 'rm', path), { cause: error });
}

/** Returns the error for a mount point. */
export function isMountPoint(path: string): unknown {
  return systemError('EBUSY', 'rmdir', path, 'it is a mount point');
}
