import type { Dirent, Stats } from 'node:fs';
import { textOfBytes, textOfLatin1 } from './byte-names.ts';
import type { DirectoryEntry, FileKind, FileStat } from './file-system.ts';

export function kindOf(entry: Stats | Dirent<string | Buffer>): FileKind {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'directory';
  if (entry.isSymbolicLink()) return 'symlink';
  if (entry.isSocket()) return 'socket';
  if (entry.isFIFO()) return 'fifo';
  return entry.isBlockDevice() ? 'blockDevice' : 'charDevice';
}

/** Converts an entry of a directory that was read as bytes or as Latin 1. */
export function entryOf(entry: Dirent<string | Buffer>): DirectoryEntry {
  const { name } = entry;
  return { name: typeof name === 'string' ? textOfLatin1(name) : textOfBytes(name), kind: kindOf(entry) };
}

export function statOf(stats: Stats): FileStat {
  return {
    kind: kindOf(stats),
    sizeBytes: stats.size,
    // stat(2) counts blocks of 512 bytes, regardless of the file system's block size.
    allocatedBytes: stats.blocks * 512,
    mode: stats.mode & 0o7777,
    uid: stats.uid,
    gid: stats.gid,
    modifiedAtMs: stats.mtimeMs,
    inode: stats.ino,
    device: stats.dev,
  };
}
