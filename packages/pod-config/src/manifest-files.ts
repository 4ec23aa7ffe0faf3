import { dirname, join } from 'node:path';
import { type FileSystem, type ForeignFiles, isMissing } from '@node-agent/host';
import { errorText, type Logger } from '@node-agent/telemetry';
import { isGood, keepLastGood, type ManifestState } from './last-good.ts';
import type { LastGoodMemory } from './last-good-memory.ts';
import type { ManifestReading } from './manifest.ts';
import type { ManifestReader } from './manifest-reader.ts';

/** The manifests at a path, or the reason why they cannot be listed. */
export type ManifestListing =
  | { readonly problem?: undefined; readonly isDirectory: boolean; readonly files: readonly string[] }
  | { readonly problem: string; readonly isMissing: boolean };

/** The last reading of a manifest. */
export interface FileVersion extends ManifestState {
  /** Content that was last read, valid or not; `undefined` if the file could not be read. */
  readonly bytes: Uint8Array | undefined;
}

/**
 * Lists the files at `path`: the non-hidden files of a directory, or the path itself if it is a file.
 * @param wasFile whether `path` was a single manifest before. If that manifest does not exist and its directory does,
 * the manifest was removed, which is not a problem. In all other cases, a missing path is a problem, because it may
 * reappear.
 */
export async function listManifests(
  fs: Pick<FileSystem, 'stat' | 'readdir'>,
  path: string,
  wasFile: boolean,
): Promise<ManifestListing> {
  try {
    const { kind } = await fs.stat(path);
    if (kind === 'file') return { isDirectory: false, files: [path] };
    if (kind !== 'directory') return { problem: `is a ${kind}, not a directory or file`, isMissing: false };
    const entries = await fs.readdir(path);
    const files = entries.filter(({ name }) => !name.startsWith('.')).map(({ name }) => join(path, name));
    return { isDirectory: true, files };
  } catch (error) {
    if (!isMissing(error)) return { problem: errorText(error), isMissing: false };
    if (wasFile && (await isDirectory(fs, dirname(path)))) return { isDirectory: false, files: [] };
    return { problem: 'does not exist', isMissing: true };
  }
}

/** Components for reading manifests. */
export interface ManifestComponents {
  readonly fs: Pick<FileSystem, 'stat' | 'lstat' | 'open'>;
  readonly foreign?: Pick<ForeignFiles, 'statfs'>;
  readonly logger: Logger;
  readonly reader: Pick<ManifestReader, 'read'>;
  readonly memory: LastGoodMemory;
}

/** The manifest to read, and its limits. */
export interface ManifestOptions {
  readonly path: string;
  readonly nodeName: string;
  readonly limitBytes: number;
}

/**
 * Reads one manifest. If it cannot be read or is invalid, the valid pods of `known` are kept (F2). Returns `undefined`
 * if the file no longer exists or is a directory.
 */
export async function readManifestFile(
  components: ManifestComponents,
  options: ManifestOptions,
  known: FileVersion | undefined,
): Promise<FileVersion | undefined> {
  const { fs, foreign, logger } = components;
  const { path, limitBytes } = options;
  const unreadable = (message: string): Promise<FileVersion> => unreadManifest(components, options, known, message);
  try {
    // A symlink may lead to an unresponsive file system. A helper process makes this call, so that no thread of this
    // process waits for it. For local disks no helper is needed.
    if (foreign !== undefined && (await fs.lstat(path)).kind === 'symlink') await foreign.statfs(path);
    // The kind is checked before the file is opened, because opening a FIFO would wait for a writer.
    const { kind, sizeBytes } = await fs.stat(path);
    if (kind === 'directory') {
      logger.debug({ path }, 'Skipped a directory among the manifests');
      return undefined;
    }
    if (kind !== 'file') return await unreadable(`is a ${kind}, not a file`);
    const bytes = await readAtMost(fs, path, sizeBytes, limitBytes + 1);
    if (bytes.length > limitBytes) return await unreadable(`is larger than ${limitBytes} bytes`);
    if (known?.bytes !== undefined && Buffer.compare(known.bytes, bytes) === 0) return known;
    return await versionOf(components, options, known, await readBytes(components, options, bytes), bytes);
  } catch (error) {
    if (!isMissing(error)) return await unreadable(errorText(error));
    const isLink = await fs.lstat(path).then(
      () => true,
      () => false,
    );
    return isLink ? await unreadable('is a symlink to a file that does not exist') : undefined;
  }
}

/**
 * Returns the state of a manifest that cannot be read: its last valid pods (F2).
 * @param message reason why the manifest cannot be read
 */
export function unreadManifest(
  components: Pick<ManifestComponents, 'reader' | 'memory'>,
  options: ManifestOptions,
  known: FileVersion | undefined,
  message: string,
): Promise<FileVersion> {
  const reading = { pods: [], problems: [{ source: options.path, message }] };
  return versionOf(components, options, known, reading, undefined);
}

async function versionOf(
  components: Pick<ManifestComponents, 'reader' | 'memory'>,
  options: ManifestOptions,
  known: FileVersion | undefined,
  reading: ManifestReading,
  bytes: Uint8Array | undefined,
): Promise<FileVersion> {
  const { memory } = components;
  const { path } = options;
  const good = isGood(reading);
  if (good && bytes !== undefined) await memory.remember(path, bytes);
  const recalled = (content: Uint8Array): Promise<ManifestReading> => readBytes(components, options, content);
  const previous = good ? undefined : (known ?? (await memory.recall(path, recalled)));
  return { ...keepLastGood(previous, reading), bytes };
}

function readBytes(
  { reader }: Pick<ManifestComponents, 'reader'>,
  { path, nodeName }: ManifestOptions,
  bytes: Uint8Array,
): Promise<ManifestReading> {
  return reader.read(bytes, { kind: 'file', location: path, nodeName });
}

/** Returns whether a directory is visible at `path`. */
export async function isDirectory(fs: Pick<FileSystem, 'stat'>, path: string): Promise<boolean> {
  return fs.stat(path).then(
    ({ kind }) => kind === 'directory',
    () => false,
  );
}

async function readAtMost(
  fs: Pick<FileSystem, 'open'>,
  path: string,
  expectedBytes: number,
  limitBytes: number,
): Promise<Uint8Array> {
  const file = await fs.open(path, 'r');
  try {
    const bytes = await file.read(0, Math.min(expectedBytes + 1, limitBytes));
    // The file has grown since the stat.
    return bytes.length > expectedBytes ? await file.read(0, limitBytes) : bytes;
  } finally {
    await file.close();
  }
}
