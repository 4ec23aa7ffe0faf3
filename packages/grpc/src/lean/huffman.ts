/**
 * Lengths in bits of HPACK's Huffman codes, by octet (RFC 7541, appendix B). The code is canonical: the codes follow
 * from the lengths.
 */
const CODE_LENGTHS: readonly number[] = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28,
  28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6,
  5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23,
  22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22,
  23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26,
  20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27,
  27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27,
  27, 27, 27, 26,
];
const MAX_LENGTH = 30;

/** For each code length: the first code, the position of its octet in {@link OCTETS}, and the number of codes. */
const FIRST_CODE = new Uint32Array(MAX_LENGTH + 1);
const FIRST_POSITION = new Uint16Array(MAX_LENGTH + 1);
const COUNT = new Uint16Array(MAX_LENGTH + 1);
/** Octets in the order of their codes: by length, and by value within a length. */
const OCTETS = new Uint8Array(256);

let code = 0;
let position = 0;
for (let length = 1; length <= MAX_LENGTH; length++) {
  FIRST_CODE[length] = code;
  FIRST_POSITION[length] = position;
  for (let octet = 0; octet < 256; octet++) if (CODE_LENGTHS[octet] === length) OCTETS[position++] = octet;
  COUNT[length] = position - (FIRST_POSITION[length] ?? 0);
  code = (code + (COUNT[length] ?? 0)) * 2;
}

/**
 * Decodes a Huffman string (RFC 7541, section 5.2) into Latin-1 text. Returns `undefined` if the padding is not a part
 * of the code of EOS, is longer than 7 bits, or if the string contains EOS.
 */
export function decodeHuffman(bytes: Uint8Array, start: number, end: number): string | undefined {
  let text = '';
  let current = 0;
  let length = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] ?? 0;
    for (let bit = 7; bit >= 0; bit--) {
      current = current * 2 + ((byte >> bit) & 1);
      length++;
      if (length > MAX_LENGTH) return undefined;
      const offset = current - (FIRST_CODE[length] ?? 0);
      if (offset < 0 || offset >= (COUNT[length] ?? 0)) continue;
      text += String.fromCharCode(OCTETS[(FIRST_POSITION[length] ?? 0) + offset] ?? 0);
      current = 0;
      length = 0;
    }
  }
  const isPadding = length < 8 && current === 2 ** length - 1;
  return isPadding ? text : undefined;
}
