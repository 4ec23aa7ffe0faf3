import { closeSync, openSync, readSync } from 'node:fs';
import { systemError } from './system-error.ts';

/** Files of the kernel are small; those that are larger are read in parts. */
let buffer: Buffer | undefined;
const STEP_BYTES = 16 * 1024;
/** None of the files that this is for is as long. */
const MAX_BYTES = 4 * 1024 * 1024;

/**
 * Reads a text that the kernel makes from its own memory (cgroups, `/proc` of this machine), at once: a reading by threads costs
 * ten times as much as the file, and a node has thousands of them. Not for files on disks, nor for any that others write.
 * @throws system errors; EFBIG beyond 4 MiB
 */
export function readKernelFile(path: string): string {
  buffer ??= Buffer.allocUnsafeSlow(STEP_BYTES);
  const file = openSync(path, 'r');
  try {
    let text = '';
    for (;;) {
      const length = readSync(file, buffer, 0, STEP_BYTES, null);
      if (length === 0) return text;
      text += buffer.toString('latin1', 0, length);
      if (text.length > MAX_BYTES) throw systemError('EFBIG', 'read', path, `more than ${MAX_BYTES} bytes`);
    }
  } finally {
    closeSync(file);
  }
}
