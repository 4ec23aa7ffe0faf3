import { dirname, join } from 'node:path';
import { type FileSystem, type ForeignFiles, isMissing } from '@node-agent/host';
import { errorText, type Logger } from '@node-agent/telemetry';
import { isGood, keepLastGood, type ManifestState } from './last-good.ts';
import type { LastGoodMemory } from './last-good-memory.ts';
import type { ManifestReading } from './manifest.ts';
import type { ManifestReader } from './manifest-reader.ts';

/** The manifests at a path, or why that cannot be told. */
export type ManifestListing =
  | { readonly problem?: undefined; readonly isDirectory: boolean; readonly files: readonly string[] }
  | { readonly problem: string; readonly isMissing: boolean };

/** A manifest as it was read last. */
export interface FileVersion extends ManifestState {
  /** The content that was read, whether it was good or not; `undefined` where it could not be read. */
  readonly bytes: Uint8Array | undefined;
}

/**
 * The files at `path`: those of a directory but hidden ones, or the one that it is.
 * @param wasFile whether `path` was a single manifest before: one that was removed from a directory which is still
 *   there is gone, and no problem; anything else that is missing may come back
 */
export async function listManifests(
  fs: Pick<FileSystem, 'stat' | 'readdir'>,
  path: string,
  wasFile: boolean,
): Promise<ManifestListing> {
  try {
    const { kind } = await fs.stat(path);
    if (kind === 'file') return { isDirectory: false, files: [path] };
    if (kind !== 'directory') return { problem: `is neither a directory nor a file but a ${kind}`, isMissing: false };
    const entries = await fs.readdir(path);
    const files = entries.filter(({ name }) => !name.startsWith('.')).map(({ name }) => join(path, name));
    return { isDirectory: true, files };
  } catch (error) {
    if (!isMissing(error)) return { problem: errorText(error), isMissing: false };
    if (wasFile && (await isDirectory(fs, dirname(path)))) return { isDirectory: false, files: [] };
    return { problem: 'does not exist', isMissing: true };
  }
}

/** What manifests are read with. */
export interface ManifestComponents {
  readonly fs: Pick<FileSystem, 'stat' | 'lstat' | 'open'>;
  readonly foreign?: Pick<ForeignFiles, 'statfs'>;
  readonly logger: Logger;
  readonly reader: Pick<ManifestReader, 'read'>;
  readonly memory: LastGoodMemory;
}

/** Which manifest is read, and how. */
export interface ManifestOptions {
  readonly path: string;
  readonly nodeName: string;
  readonly limitBytes: number;
}

/**
 * Reads one manifest, keeping what was good of `known` where it cannot be read or is broken (F2). `undefined` where it
 * is gone, or is a directory.
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
    // A link may lead to a file system that does not answer: who waits for that is another process. How full a disk of the machine is takes none.
    if (foreign !== undefined && (await fs.lstat(path)).kind === 'symlink') await foreign.statfs(path);
    // Asked before it is opened: to open a fifo would wait for its writer.
    const { kind, sizeBytes } = await fs.stat(path);
    if (kind === 'directory') {
      logger.debug({ path }, 'Directory among the manifests is not entered');
      return undefined;
    }
    if (kind !== 'file') return await unreadable(`is not a file but a ${kind}`);
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
    return isLink ? await unreadable('is a link to a file that does not exist') : undefined;
  }
}

/** What holds of a manifest that cannot be read: its last good pods (F2). @param message why not */
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

/** Whether a directory can be seen at `path`. */
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
    // It has grown since it was looked at.
    return bytes.length > expectedBytes ? await file.read(0, limitBytes) : bytes;
  } finally {
    await file.close();
  }
}
