/**
 * Names of files are bytes, and so are the values of an environment: neither need be text. Bytes that are no UTF-8 stand in a string as lone surrogates, U+DC80 to
 * U+DCFF, which no decoded text has: a name that `readdir` gave leads back to its file.
 */

const WELL_FORMED =
  /(?:[^\x80-\xff]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2})+|[\x80-\xff]/g;
/** What nearly all names are: their bytes are their text. */
const ASCII = /^[\0-\x7f]*$/;
const LONE_BYTE = /([\udc80-\udcff])/u;
const OFFSET = 0xdc00;

/** Bytes as a string from which {@link bytesOfText} makes them again; decoded as UTF-8 as far as they are that. */
export function textOfBytes(bytes: Uint8Array): string {
  return textOfLatin1(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1'));
}

/** {@link textOfBytes} of bytes that were read as Latin 1: each character is one of them. */
export function textOfLatin1(latin1: string): string {
  if (ASCII.test(latin1)) return latin1;
  return latin1.replace(WELL_FORMED, (part) => {
    const code = part.charCodeAt(0);
    if (part.length === 1 && code >= 0x80) return String.fromCharCode(OFFSET + code);
    return Buffer.from(part, 'latin1').toString('utf8');
  });
}

/** The bytes of a text, those of {@link textOfBytes} among it. Other lone surrogates become U+FFFD, as everywhere in Node. */
export function bytesOfText(text: string): Uint8Array {
  if (text.isWellFormed()) return new TextEncoder().encode(text);
  const parts = text.split(LONE_BYTE).map((part, index) => {
    return index % 2 === 1 ? Buffer.from([part.charCodeAt(0) - OFFSET]) : Buffer.from(part);
  });
  return new Uint8Array(Buffer.concat(parts));
}

/** A path as the functions of `node:fs` take it: they would write a lone surrogate as something else. */
export function systemPath(path: string): string | Buffer {
  return path.isWellFormed() ? path : Buffer.from(bytesOfText(path));
}
