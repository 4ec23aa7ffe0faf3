import { closeSync, openSync, readdirSync, readlinkSync, readSync, statSync } from 'node:fs';
import { systemPath, textOfBytes } from './byte-names.ts';
import { entryOf, statOf } from './file-stat.ts';
import type { DirectoryEntry, FileStat } from './file-system.ts';
import { systemError } from './system-error.ts';

/**
 * Synchronous reads of files that the kernel serves from memory (cgroups, `/proc` of this machine). The thread pool
 * would cost ten times as much as the read itself, and a node has thousands of such files. These methods must not be
 * used for files on disks. All methods throw system errors.
 */
export interface KernelFiles {
  /** Returns the content of a file with one character per byte (Latin 1). @throws EFBIG beyond 64 MiB */
  readFile(path: string): string;
  /** Returns the entries in the kernel's order. */
  readdir(path: string): readonly DirectoryEntry[];
  readlink(path: string): string;
  stat(path: string): FileStat;
}

/** The machine's kernel files. */
export const nodeKernelFiles: KernelFiles = {
  readFile: readKernelFile,
  readdir: (path) => readdirSync(systemPath(path), { withFileTypes: true, encoding: 'latin1' }).map(entryOf),
  readlink: (path) => textOfBytes(readlinkSync(systemPath(path), { encoding: 'buffer' })),
  stat: (path) => statOf(statSync(systemPath(path))),
};

/** Buffer that all reads share. Most kernel files fit in the buffer; larger ones are read in several parts. */
let buffer: Buffer | undefined;
const STEP_BYTES = 16 * 1024;
/**
 * Size above which a read fails; larger than any file that this module reads. The longest is the mount table, with some
 * hundred bytes per mount.
 */
const MAX_BYTES = 64 * 1024 * 1024;

function readKernelFile(path: string): string {
  buffer ??= Buffer.allocUnsafeSlow(STEP_BYTES);
  const file = openSync(systemPath(path), 'r');
  try {
    let text = '';
    for (;;) {
      const length = fill(file, buffer);
      text += buffer.toString('latin1', 0, length);
      if (length < STEP_BYTES) return text;
      if (text.length > MAX_BYTES) throw systemError('EFBIG', 'read', path, `more than ${MAX_BYTES} bytes`);
    }
  } finally {
    closeSync(file);
  }
}

/**
 * Reads until the buffer is full or the file ends, because the kernel returns at most one page per read. @returns the
 * number of bytes read, which is less than the buffer's size only at the end of the file
 */
function fill(file: number, into: Buffer): number {
  let filled = 0;
  while (filled < into.length) {
    const length = readSync(file, into, filled, into.length - filled, null);
    if (length === 0) break;
    filled += length;
  }
  return filled;
}
