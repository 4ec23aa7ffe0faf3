import { constants, createDeflate } from 'node:zlib';
import { words } from '../src/frames.ts';

/** Packs as Go's spdystream does: one deflate for the connection, which begins with the dictionary and is flushed. */
export function deflater(dictionary?: Buffer): (block: Uint8Array) => Promise<Buffer> {
  const deflate = createDeflate({ ...(dictionary && { dictionary }), flush: constants.Z_SYNC_FLUSH });
  return (block) =>
    new Promise((resolve) => {
      deflate.write(block, () => resolve(deflate.read() ?? Buffer.alloc(0)));
    });
}

/** A block of headers, unpacked. */
export function headerBlock(
  given: readonly (readonly [name: string, value: string])[],
  count: number = given.length,
): Buffer {
  const pieces: Buffer[] = [words(count)];
  for (const each of given.flat()) pieces.push(words(Buffer.byteLength(each)), Buffer.from(each));
  return Buffer.concat(pieces);
}
