import { constants, createDeflate } from 'node:zlib';
import { words } from '../src/frames.ts';

/**
 * Packs header blocks as Go's spdystream does: one deflate stream per connection, with the SPDY dictionary, flushed
 * after each block.
 */
export function deflater(dictionary?: Buffer): (block: Uint8Array) => Promise<Buffer> {
  const deflate = createDeflate({ ...(dictionary && { dictionary }), flush: constants.Z_SYNC_FLUSH });
  return (block) =>
    new Promise((resolve) => {
      deflate.write(block, () => resolve(deflate.read() ?? Buffer.alloc(0)));
    });
}

/** Encodes headers as an uncompressed header block. */
export function headerBlock(
  given: readonly (readonly [name: string, value: string])[],
  count: number = given.length,
): Buffer {
  const pieces: Buffer[] = [words(count)];
  for (const each of given.flat()) pieces.push(words(Buffer.byteLength(each)), Buffer.from(each));
  return Buffer.concat(pieces);
}
