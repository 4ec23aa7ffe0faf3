import { isUtf8 } from 'node:buffer';

/**
 * Names of files are bytes, and so are the values of an environment: neither need be text. Bytes that are no UTF-8 stand in a string as lone surrogates, U+DC80 to
 * U+DCFF, which no decoded text has: a name that `readdir` gave leads back to its file.
 */

/** What nearly all names are: their bytes are their text. */
const ASCII = /^[\0-\x7f]*$/;
const OFFSET = 0xdc00;
/** How many units of UTF-16 become a text at once. */
const PORTION = 8192;

/** Bytes as a string from which {@link bytesOfText} makes them again; decoded as UTF-8 as far as they are that. */
export function textOfBytes(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return isUtf8(buffer) ? buffer.toString('utf8') : textOfUnits(unitsOf(buffer));
}

/** {@link textOfBytes} of bytes that were read as Latin 1: each character is one of them. */
export function textOfLatin1(latin1: string): string {
  return ASCII.test(latin1) ? latin1 : textOfBytes(Buffer.from(latin1, 'latin1'));
}

/** The bytes of a text, those of {@link textOfBytes} among it. Other lone surrogates become U+FFFD, as everywhere in Node. */
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

/** A path as the functions of `node:fs` take it: they would write a lone surrogate as something else. */
export function systemPath(path: string): string | Buffer {
  return path.isWellFormed() ? path : Buffer.from(bytesOfText(path));
}

/** As units of UTF-16, of which no character has more than it has bytes. */
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

/** How many bytes the character has that begins at an index; 0 where none does (Unicode, table 3-7). */
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
