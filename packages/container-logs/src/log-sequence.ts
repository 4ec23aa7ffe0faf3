import { basename, dirname, join } from 'node:path';
import { type FileHandle, type FileStat, type FileSystem, isMissing } from '@node-agent/host';
import { decompressed, readToEnd } from './compress.ts';
import { COMPRESSED_SUFFIX, isStamp, logFiles, type RotatedFile } from './rotated-files.ts';
import { countLines, findTailStart } from './tail-start.ts';

/** A log on disk. */
export interface LogLocation {
  readonly fs: Pick<FileSystem, 'open' | 'readdir' | 'stat'>;
  readonly path: string;
  /** Told of compressed files that cannot be read to their end. */
  readonly onDamage: (path: string, error: unknown) => void;
}

/** How much of a file's beginning tells it from others: at least the time of its first line. */
const HEAD_BYTES = 256;

/** The files of one log, from its oldest to the one that is written to. */
export interface LogSequence {
  /** Oldest first, all of them older than `current`. */
  readonly rotated: readonly RotatedFile[];
  /** `undefined` at the instant of a rotation, and where the log was removed. */
  readonly current: FileHandle | undefined;
  /** The stamp of the newest file that is older than `current`; '' for none. */
  readonly newestStamp: string;
}

/**
 * Opens a log and sees which rotated files come before it. The current file is opened first: where it is rotated in
 * between, it is known by its inode, and it and what comes after it are left to the next look.
 * @param afterStamp only rotated files after this one
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

/** Whether `path` now names another file than the open one. `undefined` where it names none. */
export async function wasReplaced({ fs, path }: LogLocation, file: FileHandle): Promise<boolean | undefined> {
  const now = await fs.stat(path).catch(undefinedIfMissing);
  return now && !isSameFile(now, await file.stat());
}

/** Whether a rotated file is the one that is open here, under its new name, compressed or not. */
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

/** Where in a file to begin: so many lines, or so many bytes, are left out. */
export interface StartPoint {
  readonly lines?: number;
  readonly bytes?: number;
}

/** The content of a rotated file; nothing where it was removed meanwhile. */
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

/** Where the last `count` lines of a rotated file begin, and how many it has of them. */
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

/** Opens a rotated file under either of its names: it may be compressed at any instant. */
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
