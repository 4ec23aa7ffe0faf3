import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { errorCode, type FileHandle, type FileSystem } from '@node-agent/host';
import { COMPRESSED_SUFFIX, TEMPORARY_SUFFIX } from './rotated-files.ts';

/** How much of a file is in memory at a time. */
export const CHUNK_BYTES: number = 64 * 1024;

/** What of a handle is left to read from `position` on, piece by piece, until what was its end. */
export async function* readToEnd(file: FileHandle, position = 0): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = position; ; ) {
    const chunk = await file.read(at, CHUNK_BYTES);
    if (chunk.length === 0) return;
    yield chunk;
    at += chunk.length;
  }
}

/**
 * The content of a compressed file, piece by piece; of a damaged one what comes before the damage.
 * @param onDamage is told of it
 */
export async function* decompressed(
  file: FileHandle,
  onDamage: (error: unknown) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  const gunzip = createGunzip();
  const source = Readable.from(readToEnd(file), { objectMode: false });
  // What goes wrong on the way in comes out of the loop below.
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
 * Puts `<path>.gz` in the place of `path`, with the same mode. Whatever happens on the way, at every instant one of the
 * two is there, whole.
 * @throws what the file system throws; what was begun is removed then
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
