const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/**
 * Returns the 32-bit FNV-1a hash of a text in UTF-8: the checksum of upstream's state files.
 * @param before hash of the text that precedes this one. Default: none
 */
export function fnv32a(text: string, before: number = FNV_OFFSET): number {
  let hash = before;
  const bytes = Buffer.from(text);
  // Without V8's optimizing compilers, an iterator takes six times as long as an index, and `readUInt8` ten times.
  for (let at = 0; at < bytes.length; at++) hash = Math.imul(hash ^ (bytes[at] ?? 0), FNV_PRIME);
  return hash >>> 0;
}
