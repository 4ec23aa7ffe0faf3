import { randomInt } from 'node:crypto';
import { close, closeSync, constants, fchmod, fsync, open } from 'node:fs';
import * as fsp from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '@node-agent/async';
import { writeAtomically } from './atomic-write.ts';
import { systemPath, textOfBytes } from './byte-names.ts';
import { entryOf, statOf } from './file-stat.ts';
import type { DirectoryEntry, FileHandle, FileStat, FileSystem } from './file-system.ts';
import { TreeGiver } from './give-tree.ts';
import { makeDirectories } from './make-directories.ts';
import { TreeMeasurer } from './measure-tree.ts';
import { mountIdOf, O_PATH, onLinux } from './mount-id.ts';
import { holdBeneath, openBeneath, openForReading } from './open-checked.ts';
import { TreeRemover } from './remove-tree.ts';
import { errorCode, isThere, withPath } from './system-error.ts';
import { watchPath } from './watch-path.ts';
import { writeDescriptor } from './write-descriptor.ts';

// Distinguishes this process's temporary files from those of a killed process that may have had the same process ID.
const owner = randomInt(2 ** 32);

// Bits that the umask removes from each mode. The mode is set again only if the umask removes a bit of it.
const umask = process.umask();

// Raw descriptors are used within a single function, because Node's file handles cost more than the rest of the work.
const openDescriptor = promisify(open);
const closeDescriptor = promisify(close);
const chmodDescriptor = promisify(fchmod);
const syncDescriptor = promisify(fsync);

const remover = new TreeRemover({ clock: systemClock });
const giver = new TreeGiver({ clock: systemClock });
const measurer = new TreeMeasurer({ clock: systemClock });

/**
 * The machine's files, through `node:fs/promises`. Paths follow the process's root and umask. A `mode` option is
 * applied exactly, regardless of the umask.
 */
export const nodeFileSystem: FileSystem = {
  readFile: (path) => fsp.readFile(systemPath(path)),
  async writeFile(path, data, options) {
    await closeDescriptor(await writeAll(path, 'w', data, options?.mode, false));
  },
  async writeFileAtomic(path, data, options) {
    // Descriptors are closed in the background, because each wait for a thread lengthens the write.
    const closes: Promise<void>[] = [];
    const directory = openDirectory(dirname(path));
    try {
      await writeAtomically(
        {
          createSynced: async (temporary) => {
            const fd = await writeAll(temporary, 'wx', data, options?.mode, true, path);
            // Handled now: an unhandled rejection during the next steps would end the process. The content is synced.
            closes.push(closeDescriptor(fd).catch(() => undefined));
          },
          rename: (from, to) => fsp.rename(systemPath(from), systemPath(to)),
          syncDirectory: async () => syncDescriptor(await directory),
          remove: (temporary) => fsp.unlink(systemPath(temporary)),
        },
        path,
        owner,
        options,
      );
    } finally {
      await Promise.allSettled([directory.then(closeDescriptor), ...closes]);
    }
  },
  async open(path, flags) {
    return new NodeFileHandle(flags === 'r' ? await openForReading(path) : await fsp.open(systemPath(path), flags));
  },
  async openBeneath(directory, path, options = {}) {
    return new NodeFileHandle(await openBeneath(directory, path, options));
  },
  async holdBeneath(directory, path, { makeDirectories = false } = {}) {
    const file = await holdBeneath(directory, path, { makeDirectories, crossMounts: false });
    try {
      const handle = onLinux ? `/proc/${process.pid}/fd/${file.fd}` : `${directory}/${path}`;
      return { handle, stat: statOf(await file.stat()), close: () => file.close() };
    } catch (error) {
      await file.close();
      throw error;
    }
  },
  async mkdir(path, options) {
    const { mode } = options ?? {};
    const made = await makeDirectories(path, mode);
    // An existing directory keeps its mode.
    if (made !== undefined && mode !== undefined && (mode & umask) !== 0) await fsp.chmod(systemPath(path), mode);
  },
  async readdir(path) {
    const entries = await fsp.readdir(systemPath(path), { withFileTypes: true, encoding: 'buffer' });
    return entries.map(entryOf).sort(byName);
  },
  stat: async (path) => statOf(await fsp.stat(systemPath(path))),
  lstat: async (path) => statOf(await fsp.lstat(systemPath(path))),
  exists: (path) => isThere(() => fsp.stat(systemPath(path))),
  chmod: (path, mode) => fsp.chmod(systemPath(path), mode),
  chown: (path, uid, gid) => fsp.chown(systemPath(path), uid, gid),
  rename: (from, to) => fsp.rename(systemPath(from), systemPath(to)),
  symlink: (target, path) => fsp.symlink(systemPath(target), systemPath(path)),
  readlink: async (path) => textOfBytes(await fsp.readlink(systemPath(path), { encoding: 'buffer' })),
  realpath: async (path) => textOfBytes(await fsp.realpath(systemPath(path), { encoding: 'buffer' })),
  async mountId(path) {
    const flags = onLinux ? O_PATH : constants.O_RDONLY | constants.O_NONBLOCK;
    const fd = await openDescriptor(systemPath(path), flags | constants.O_NOFOLLOW);
    try {
      return mountIdOf(fd);
    } finally {
      // Closing an O_PATH descriptor cannot block.
      if (onLinux) closeSync(fd);
      else await closeDescriptor(fd);
    }
  },
  async remove(path) {
    try {
      await fsp.unlink(systemPath(path));
    } catch (error) {
      // For a directory, Linux returns EISDIR; POSIX and macOS return EPERM. Relying on the code avoids a stat, which
      // might never return.
      if (!['EISDIR', 'EPERM'].includes(errorCode(error) ?? '')) throw error;
      await fsp.rmdir(systemPath(path)).catch((rmdirError: unknown) => {
        throw errorCode(rmdirError) === 'ENOTDIR' ? error : rmdirError;
      });
    }
  },
  removeAll: (path) => remover.remove(path),
  usage: (path, options) => measurer.measure(path, options),
  giveToGroup: (path, gid) => giver.give(path, gid),
  watch: watchPath,
};

class NodeFileHandle implements FileHandle {
  readonly #file: fsp.FileHandle;

  constructor(file: fsp.FileHandle) {
    this.#file = file;
  }

  async read(position: number, length: number): Promise<Uint8Array> {
    const buffer = Buffer.allocUnsafe(length);
    let filled = 0;
    while (filled < length) {
      const { bytesRead } = await this.#file.read(buffer, filled, length - filled, position + filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return buffer.subarray(0, filled);
  }

  append(data: Uint8Array): Promise<void> {
    return this.#file.appendFile(data);
  }

  async stat(): Promise<FileStat> {
    return statOf(await this.#file.stat());
  }

  sync(): Promise<void> {
    return this.#file.sync();
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

/**
 * @param named path for error messages; the file actually written is its temporary file
 * @returns the descriptor of the written file, which the caller must close
 */
async function writeAll(
  path: string,
  flags: 'w' | 'wx',
  data: string | Uint8Array,
  mode: number | undefined,
  sync: boolean,
  named = path,
): Promise<number> {
  // If a mode is requested, the file is created private, so that no other process can open it before the mode is set.
  const first = mode === undefined ? 0o666 : mode & 0o600;
  const fd = await openDescriptor(systemPath(path), flags, first);
  try {
    const hasMode = mode === undefined || (flags === 'wx' && mode === (first & ~umask));
    if (!hasMode) await chmodDescriptor(fd, mode);
    if (data.length > 0) await writeDescriptor(fd, data);
    if (sync) await syncDescriptor(fd);
  } catch (error) {
    await closeDescriptor(fd);
    throw withPath(error, named);
  }
  return fd;
}

/** Opens a directory for a sync of its names. The caller may use the result only after other work. */
function openDirectory(path: string): Promise<number> {
  const opened = openDescriptor(systemPath(path), constants.O_RDONLY | constants.O_DIRECTORY);
  opened.catch(() => undefined);
  return opened;
}

function byName(a: DirectoryEntry, b: DirectoryEntry): number {
  return a.name < b.name ? -1 : 1;
}
