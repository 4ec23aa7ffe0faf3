import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { errorCode, type FileHandle, type FileSystem } from '@node-agent/host';
import { COMPRESSED_SUFFIX, TEMPORARY_SUFFIX } from './rotated-files.ts';

/** Number of bytes of a file held in memory at a time. */
export const CHUNK_BYTES: number = 64 * 1024;

/** Yields the rest of a file from `position` to its end. */
export async function* readToEnd(file: FileHandle, position = 0): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = position; ; ) {
    const chunk = await file.read(at, CHUNK_BYTES);
    if (chunk.length === 0) return;
    yield chunk;
    at += chunk.length;
  }
}

/**
 * Yields the content of a compressed file; of a damaged file the content before the damage.
 * @param onDamage called with the error of a damaged file
 */
export async function* decompressed(
  file: FileHandle,
  onDamage: (error: unknown) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  const gunzip = createGunzip();
  const source = Readable.from(readToEnd(file), { objectMode: false });
  // Errors of the input are thrown by the loop below.
  const feeding = pipeline(source, gunzip).catch(() => undefined);
  try {
    for await (const chunk of gunzip) yield chunk;
  } catch (error) {
    if (!errorCode(error)?.startsWith('Z_')) throw error;
    onDamage(error);
  } finally {
    source.destroy();
    gunzip.destroy();
    await feeding;
  }
}

/**
 * Replaces `path` by `<path>.gz` with the same mode. At any time one of the two files exists and is complete.
 * @throws file system errors; the incomplete file is then removed
 */
export async function compressFile(
  fs: Pick<FileSystem, 'open' | 'chmod' | 'rename' | 'remove' | 'removeAll'>,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  const temporary = `${path}${TEMPORARY_SUFFIX}`;
  await fs.removeAll(temporary);
  const source = await fs.open(path, 'r');
  try {
    const { mode } = await source.stat();
    const target = await fs.open(temporary, 'a');
    try {
      await fs.chmod(temporary, mode);
      const write = async (chunks: AsyncIterable<Uint8Array>): Promise<void> => {
        for await (const chunk of chunks) await target.append(chunk);
      };
      await pipeline(Readable.from(readToEnd(source), { objectMode: false }), createGzip(), write, { signal });
      await target.sync();
    } finally {
      await target.close();
    }
    await fs.rename(temporary, `${path}${COMPRESSED_SUFFIX}`);
  } catch (error) {
    await fs.removeAll(temporary);
    throw error;
  } finally {
    await source.close();
  }
  await fs.remove(path);
}
