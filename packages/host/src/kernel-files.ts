import { closeSync, openSync, readdirSync, readlinkSync, readSync, statSync } from 'node:fs';
import { systemPath, textOfBytes } from './byte-names.ts';
import { entryOf, statOf } from './file-stat.ts';
import type { DirectoryEntry, FileStat } from './file-system.ts';
import { systemError } from './system-error.ts';

/**
 * Looks at what the kernel makes from its own memory (cgroups, `/proc` of this machine), at once: a look by threads costs ten
 * times as much as what is looked at, and a node has thousands of such files. Not for files on disks. All throw system errors.
 */
export interface KernelFiles {
  /** A byte is a character. @throws EFBIG beyond 64 MiB */
  readFile(path: string): string;
  /** In the order that the kernel has. */
  readdir(path: string): readonly DirectoryEntry[];
  readlink(path: string): string;
  stat(path: string): FileStat;
}

/** Those of the machine. */
export const nodeKernelFiles: KernelFiles = {
  readFile: readKernelFile,
  readdir: (path) => readdirSync(systemPath(path), { withFileTypes: true, encoding: 'latin1' }).map(entryOf),
  readlink: (path) => textOfBytes(readlinkSync(systemPath(path), { encoding: 'buffer' })),
  stat: (path) => statOf(statSync(systemPath(path))),
};

/** Files of the kernel are small; those that are larger are read in parts. */
let buffer: Buffer | undefined;
const STEP_BYTES = 16 * 1024;
/** None of the files that this is for is as long: the longest is the mount table, with some hundred bytes for each mount. */
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

/** The kernel gives a page at a time. @returns how much there is: less than the buffer holds at the end of the file only */
function fill(file: number, into: Buffer): number {
  let filled = 0;
  while (filled < into.length) {
    const length = readSync(file, into, filled, into.length - filled, null);
    if (length === 0) break;
    filled += length;
  }
  return filled;
}
