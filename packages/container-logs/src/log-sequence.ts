import { basename, dirname, join } from 'node:path';
import { type FileHandle, type FileStat, type FileSystem, isMissing } from '@node-agent/host';
import { decompressed, readToEnd } from './compress.ts';
import { COMPRESSED_SUFFIX, isStamp, logFiles, type RotatedFile } from './rotated-files.ts';
import { countLines, findTailStart } from './tail-start.ts';

/** A log on disk. */
export interface LogLocation {
  readonly fs: Pick<FileSystem, 'open' | 'readdir' | 'stat'>;
  readonly path: string;
  /** Called for compressed files that cannot be read to their end. */
  readonly onDamage: (path: string, error: unknown) => void;
}

/** Number of bytes at the start of a file that identify it: at least the time of its first line. */
const HEAD_BYTES = 256;

/** The files of one log, from the oldest to the current one. */
export interface LogSequence {
  /** Rotated files, oldest first. All are older than `current`. */
  readonly rotated: readonly RotatedFile[];
  /** Open current file; `undefined` during a rotation, and if the log was removed. */
  readonly current: FileHandle | undefined;
  /** Stamp of the newest file older than `current`; empty if there is none. */
  readonly newestStamp: string;
}

/**
 * Opens a log and lists its rotated files. The current file is opened first. If that file is then rotated, it is
 * recognized by its inode, and it and newer files are left for the next call.
 * @param afterStamp only rotated files after this stamp are returned
 */
export async function openSequence({ fs, path }: LogLocation, afterStamp: string): Promise<LogSequence> {
  const current = await fs.open(path, 'r').catch(undefinedIfMissing);
  try {
    const names = (await fs.readdir(dirname(path)).catch(undefinedIfMissing)) ?? [];
    const all = logFiles(
      names.map(({ name }) => name),
      basename(path),
    ).rotated.filter(({ stamp }) => isStamp(stamp) && stamp > afterStamp);
    const own = await current?.stat();
    const rotated: RotatedFile[] = [];
    for (const file of all) {
      const stat = file.compressed
        ? undefined
        : await fs.stat(join(dirname(path), file.name)).catch(undefinedIfMissing);
      if (own && stat && isSameFile(own, stat)) break;
      rotated.push(file);
    }
    return { rotated, current, newestStamp: rotated.at(-1)?.stamp ?? afterStamp };
  } catch (error) {
    await current?.close();
    throw error;
  }
}

/** Returns whether `path` now refers to another file than the open one; `undefined` if the path does not exist. */
export async function wasReplaced({ fs, path }: LogLocation, file: FileHandle): Promise<boolean | undefined> {
  const now = await fs.stat(path).catch(undefinedIfMissing);
  return now && !isSameFile(now, await file.stat());
}

/** Returns whether a rotated file, compressed or not, is the open file under its new name. */
export async function isRotatedForm(log: LogLocation, rotated: RotatedFile, file: FileHandle): Promise<boolean> {
  const other = await openRotated(log, rotated);
  if (!other) return false;
  try {
    if (!other.compressed) return isSameFile(await other.file.stat(), await file.stat());
    const [head, otherHead] = [await file.read(0, HEAD_BYTES), await headOf(contentOf(log, rotated, other.file))];
    return Buffer.compare(head, otherHead) === 0;
  } finally {
    await other.file.close();
  }
}

/** Start position in a file: the number of lines or bytes to skip. */
export interface StartPoint {
  readonly lines?: number;
  readonly bytes?: number;
}

/** Yields the content of a rotated file; nothing if the file was removed in the meantime. */
export async function* readRotated(
  log: LogLocation,
  rotated: RotatedFile,
  start: StartPoint = {},
): AsyncGenerator<Uint8Array, void, undefined> {
  const opened = await openRotated(log, rotated);
  if (!opened) return;
  try {
    yield* skip(opened.compressed ? contentOf(log, rotated, opened.file) : readToEnd(opened.file), start);
  } finally {
    await opened.file.close();
  }
}

/** Returns the start of the last `count` lines of a rotated file, and the number of lines found. */
export async function rotatedTail(
  log: LogLocation,
  rotated: RotatedFile,
  count: number,
): Promise<{ readonly start: StartPoint; readonly lines: number }> {
  const opened = await openRotated(log, rotated);
  if (!opened) return { start: {}, lines: 0 };
  try {
    if (!opened.compressed) {
      const { sizeBytes } = await opened.file.stat();
      const { offset, lines } = await findTailStart(opened.file, sizeBytes, count);
      return { start: { bytes: offset }, lines };
    }
    const all = await countLines(contentOf(log, rotated, opened.file));
    const lines = Math.min(all, count);
    return { start: { lines: all - lines }, lines };
  } finally {
    await opened.file.close();
  }
}

function contentOf(log: LogLocation, { name }: RotatedFile, file: FileHandle): ReturnType<typeof decompressed> {
  return decompressed(file, (error) => log.onDamage(join(dirname(log.path), name), error));
}

/** Opens a rotated file under either of its names, because it may be compressed at any time. */
async function openRotated(
  { fs, path: logPath }: LogLocation,
  { name, compressed }: RotatedFile,
): Promise<{ readonly file: FileHandle; readonly compressed: boolean } | undefined> {
  const path = join(dirname(logPath), name);
  const file = await fs.open(path, 'r').catch(undefinedIfMissing);
  if (file || compressed) return file && { file, compressed };
  const after = await fs.open(`${path}${COMPRESSED_SUFFIX}`, 'r').catch(undefinedIfMissing);
  return after && { file: after, compressed: true };
}

async function* skip(
  chunks: AsyncIterable<Uint8Array>,
  { lines = 0, bytes = 0 }: StartPoint,
): AsyncGenerator<Uint8Array, void, undefined> {
  let [linesLeft, bytesLeft] = [lines, bytes];
  for await (const chunk of chunks) {
    let rest = chunk.subarray(Math.min(bytesLeft, chunk.length));
    bytesLeft -= chunk.length - rest.length;
    for (; linesLeft > 0 && rest.length > 0; ) {
      const end = rest.indexOf(0x0a);
      rest = end < 0 ? rest.subarray(rest.length) : rest.subarray(end + 1);
      if (end >= 0) linesLeft--;
    }
    if (rest.length > 0) yield rest;
  }
}

async function headOf(chunks: AsyncGenerator<Uint8Array, void, undefined>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    parts.push(chunk);
    length += chunk.length;
    if (length >= HEAD_BYTES) break;
  }
  return Buffer.concat(parts).subarray(0, HEAD_BYTES);
}

function isSameFile(a: FileStat, b: FileStat): boolean {
  return a.inode === b.inode && a.device === b.device;
}

function undefinedIfMissing(error: unknown): undefined {
  if (isMissing(error)) return undefined;
  throw error;
}
