import { endianness } from 'node:os';

/** `AT_PAGESZ` of `linux/auxvec.h`. */
const PAGE_SIZE = 6n;
/** Page size if the kernel reports none. Correct for all machines except some kernels for arm64, ppc64 and loong64. */
const USUAL = 4096;

/**
 * Returns the size of a memory page in bytes, which the kernel passes to each process in its auxiliary vector.
 * @param auxv the content of `/proc/self/auxv` of a 64-bit process: pairs of a type and a value
 */
export function pageSize(auxv: Uint8Array): number {
  const view = new DataView(auxv.buffer, auxv.byteOffset, auxv.byteLength);
  const little = endianness() === 'LE';
  for (let offset = 0; offset + 16 <= auxv.byteLength; offset += 16) {
    if (view.getBigUint64(offset, little) !== PAGE_SIZE) continue;
    const size = Number(view.getBigUint64(offset + 8, little));
    // A valid page size is a power of two within the range of existing kernels; any other value was misread.
    return size >= 1024 && size <= 2 ** 24 && Number.isInteger(Math.log2(size)) ? size : USUAL;
  }
  return USUAL;
}
