import type { FileHandle, FileSystem } from './file-system.ts';
import { systemError } from './system-error.ts';

/**
 * Reads an open file completely unless it exceeds a limit, regardless of the size that stat reports.
 * @param path path for error messages
 * @throws EFBIG after at most one byte more than the limit was read
 */
export async function readBounded(file: FileHandle, limitBytes: number, path: string): Promise<Uint8Array> {
  const { kind, sizeBytes } = await file.stat();
  if (kind === 'directory') throw systemError('EISDIR', 'read', path);
  const tooLarge = () => systemError('EFBIG', 'read', path, `more than ${limitBytes} bytes`);
  if (sizeBytes > limitBytes) throw tooLarge();
  const parts: Uint8Array[] = [];
  let length = 0;
  // A file may be larger than stat reports (files in /proc), and may grow while it is read.
  for (let step = Math.min(sizeBytes, limitBytes) + 1; ; step = Math.min(64 * 1024, limitBytes + 1 - length)) {
    const part = await file.read(length, step);
    if (part.length === 0) return Buffer.concat(parts);
    parts.push(part);
    length += part.length;
    if (length > limitBytes) throw tooLarge();
  }
}

/** Applies {@link readBounded} to the file at a path; symlinks are followed. @throws ENXIO, EISDIR, EFBIG */
export async function readFileBounded(
  fs: Pick<FileSystem, 'open'>,
  path: string,
  limitBytes: number,
): Promise<Uint8Array> {
  return await closing(await fs.open(path, 'r'), (file) => readBounded(file, limitBytes, path));
}

/** Applies {@link readBounded} to a file opened by {@link FileSystem.openBeneath}. */
export async function readFileBeneath(
  fs: Pick<FileSystem, 'openBeneath'>,
  directory: string,
  path: string,
  limitBytes: number,
  options?: Parameters<FileSystem['openBeneath']>[2],
): Promise<Uint8Array> {
  const file = await fs.openBeneath(directory, path, options);
  return await closing(file, () => readBounded(file, limitBytes, `${directory}/${path}`));
}

async function closing<T>(file: FileHandle, use: (file: FileHandle) => Promise<T>): Promise<T> {
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}
