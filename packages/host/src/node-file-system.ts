import { randomInt } from 'node:crypto';
import { constants, type Dirent, type Stats } from 'node:fs';
import * as fsp from 'node:fs/promises';
import { writeAtomically } from './atomic-write.ts';
import type { DirectoryEntry, FileHandle, FileKind, FileStat, FileSystem } from './file-system.ts';
import { removeTree } from './remove-tree.ts';
import { isMissing } from './system-error.ts';
import { watchPath } from './watch-path.ts';

// Tells this process's temporary files from those of one that was killed, and may have had the same process id.
const owner = randomInt(2 ** 32);

// What the system takes away from each mode: only where it takes something has the mode to be set once more.
const umask = process.umask();

/**
 * The machine's files, through `node:fs/promises`. Paths follow the process's root and umask; a `mode` that is given
 * is set exactly.
 */
export const nodeFileSystem: FileSystem = {
  readFile: (path) => fsp.readFile(path),
  writeFile: (path, data, options) => writeAll(path, 'w', data, options?.mode, false),
  writeFileAtomic: (path, data, options) =>
    writeAtomically(
      {
        createSynced: (temporary) => writeAll(temporary, 'wx', data, options?.mode, true),
        rename: fsp.rename,
        syncDirectory,
        remove: fsp.unlink,
      },
      path,
      owner,
    ),
  async open(path, flags) {
    return new NodeFileHandle(await fsp.open(path, flags));
  },
  async mkdir(path, options) {
    const { mode } = options ?? {};
    const made = await fsp.mkdir(path, { recursive: true, ...(mode !== undefined && { mode }) });
    // A directory that was there before keeps its own mode.
    if (made !== undefined && mode !== undefined && (mode & umask) !== 0) await fsp.chmod(path, mode);
  },
  async readdir(path) {
    const entries = await fsp.readdir(path, { withFileTypes: true });
    return entries.map((entry): DirectoryEntry => ({ name: entry.name, kind: kindOf(entry) })).sort(byName);
  },
  stat: async (path) => statOf(await fsp.stat(path)),
  lstat: async (path) => statOf(await fsp.lstat(path)),
  async exists(path) {
    try {
      await fsp.stat(path);
      return true;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  },
  chmod: (path, mode) => fsp.chmod(path, mode),
  chown: (path, uid, gid) => fsp.chown(path, uid, gid),
  rename: (from, to) => fsp.rename(from, to),
  symlink: (target, path) => fsp.symlink(target, path),
  readlink: (path) => fsp.readlink(path),
  realpath: (path) => fsp.realpath(path),
  async remove(path) {
    const { kind } = statOf(await fsp.lstat(path));
    await (kind === 'directory' ? fsp.rmdir(path) : fsp.unlink(path));
  },
  removeAll: removeTree,
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

async function writeAll(
  path: string,
  flags: 'w' | 'wx',
  data: string | Uint8Array,
  mode: number | undefined,
  sync: boolean,
): Promise<void> {
  // Where a mode is wanted the file is born private, so that nobody opens it in between.
  const file = await fsp.open(path, flags, mode === undefined ? 0o666 : mode & 0o600);
  try {
    if (mode !== undefined) await file.chmod(mode);
    if (data.length > 0) await file.writeFile(data);
    if (sync) await file.sync();
  } finally {
    await file.close();
  }
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await fsp.open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

function byName(a: DirectoryEntry, b: DirectoryEntry): number {
  return a.name < b.name ? -1 : 1;
}

function kindOf(entry: Stats | Dirent): FileKind {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'directory';
  if (entry.isSymbolicLink()) return 'symlink';
  if (entry.isSocket()) return 'socket';
  if (entry.isFIFO()) return 'fifo';
  return entry.isBlockDevice() ? 'blockDevice' : 'charDevice';
}

function statOf(stats: Stats): FileStat {
  return {
    kind: kindOf(stats),
    sizeBytes: stats.size,
    mode: stats.mode & 0o7777,
    uid: stats.uid,
    gid: stats.gid,
    modifiedAtMs: stats.mtimeMs,
    inode: stats.ino,
    device: stats.dev,
  };
}
