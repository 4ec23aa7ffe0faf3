import { endianness } from 'node:os';

/** `AT_PAGESZ` of `linux/auxvec.h`. */
const PAGE_SIZE = 6n;
/** What a kernel has that tells nothing: that of every machine but for some kernels of arm64, ppc64 and loong64. */
const USUAL = 4096;

/**
 * The size of a page of memory in bytes, as the kernel tells each process it starts.
 * @param auxv the content of `/proc/self/auxv` of a 64-bit process: pairs of a type and a value
 */
export function pageSize(auxv: Uint8Array): number {
  const view = new DataView(auxv.buffer, auxv.byteOffset, auxv.byteLength);
  const little = endianness() === 'LE';
  for (let offset = 0; offset + 16 <= auxv.byteLength; offset += 16) {
    if (view.getBigUint64(offset, little) !== PAGE_SIZE) continue;
    const size = Number(view.getBigUint64(offset + 8, little));
    // A power of two that some kernel could have: else what was read is something else.
    return size >= 1024 && size <= 2 ** 24 && Number.isInteger(Math.log2(size)) ? size : USUAL;
  }
  return USUAL;
}
