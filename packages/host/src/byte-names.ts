import { isUtf8 } from 'node:buffer';

/**
 * File names and environment values are bytes and need not be valid text. Bytes that are not UTF-8 are represented in a
 * string as lone surrogates (U+DC80 to U+DCFF), which no decoded text contains. A name returned by `readdir` therefore
 * leads back to its file.
 */

/** Nearly all names are ASCII: their bytes equal their text. */
const ASCII = /^[\0-\x7f]*$/;
const OFFSET = 0xdc00;
/** Number of UTF-16 units converted to text at a time. */
const PORTION = 8192;

/**
 * Decodes bytes as UTF-8. Invalid bytes become lone surrogates, so that {@link bytesOfText} restores the same bytes.
 */
export function textOfBytes(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return isUtf8(buffer) ? buffer.toString('utf8') : textOfUnits(unitsOf(buffer));
}

/** Applies {@link textOfBytes} to bytes that were read as Latin 1, one character per byte. */
export function textOfLatin1(latin1: string): string {
  return ASCII.test(latin1) ? latin1 : textOfBytes(Buffer.from(latin1, 'latin1'));
}

/**
 * Returns the bytes of a text, including the surrogates that {@link textOfBytes} creates. Other lone surrogates become
 * U+FFFD, as elsewhere in Node.
 */
export function bytesOfText(text: string): Uint8Array {
  if (text.isWellFormed()) return new TextEncoder().encode(text);
  const bytes = Buffer.allocUnsafe(3 * text.length);
  let length = 0;
  let from = 0;
  const writeTo = (to: number): void => {
    if (from < to) length += bytes.write(text.slice(from, to), length);
  };
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (isBetween(unit, 0xd800, 0xdbff) && isBetween(text.charCodeAt(at + 1), 0xdc00, 0xdfff)) at++;
    else if (isBetween(unit, OFFSET + 0x80, OFFSET + 0xff)) {
      writeTo(at);
      bytes[length++] = unit - OFFSET;
      from = at + 1;
    }
  }
  writeTo(text.length);
  return new Uint8Array(bytes.subarray(0, length));
}

/**
 * Converts a path to a form that the functions of `node:fs` take; they would encode a lone surrogate as other bytes.
 */
export function systemPath(path: string): string | Buffer {
  return path.isWellFormed() ? path : Buffer.from(bytesOfText(path));
}

/**
 * Decodes bytes to UTF-16 units. The result is never longer than the input, because no character has more units than
 * bytes.
 */
function unitsOf(bytes: Uint8Array): Uint16Array {
  const units = new Uint16Array(bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length; ) {
    const size = characterSize(bytes, at);
    const first = bytes[at] ?? 0;
    if (size === 0) units[length++] = OFFSET + first;
    let code = size === 1 ? first : first & (0x7f >> size);
    for (let n = 1; n < size; n++) code = (code << 6) | ((bytes[at + n] ?? 0) & 0x3f);
    if (code > 0xffff) units[length++] = 0xd7c0 + (code >> 10);
    if (size > 0) units[length++] = code > 0xffff ? 0xdc00 + (code & 0x3ff) : code;
    at += Math.max(size, 1);
  }
  return units.subarray(0, length);
}

/**
 * Returns the number of bytes of the character that starts at an index; 0 if no valid character starts there (Unicode,
 * table 3-7).
 */
function characterSize(bytes: Uint8Array, at: number): number {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return 1;
  if (!isBetween(first, 0xc2, 0xf4)) return 0;
  const least = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const most = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  if (!isBetween(bytes[at + 1] ?? 0, least, most)) return 0;
  const size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  for (let n = 2; n < size; n++) if (!isBetween(bytes[at + n] ?? 0, 0x80, 0xbf)) return 0;
  return size;
}

function textOfUnits(units: Uint16Array): string {
  let text = '';
  for (let at = 0; at < units.length; at += PORTION) {
    text += Reflect.apply(String.fromCharCode, undefined, units.subarray(at, at + PORTION));
  }
  return text;
}

function isBetween(value: number, least: number, most: number): boolean {
  return value >= least && value <= most;
}
