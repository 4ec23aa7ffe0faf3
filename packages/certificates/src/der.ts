import ipaddr from 'ipaddr.js';

/** Encodes a DER element: tag, length and content (X.690). */
export function element(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag]), lengthOf(body.length), body]);
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const digits = Buffer.from(length.toString(16).padStart(2 * Math.ceil(length.toString(16).length / 2), '0'), 'hex');
  return Buffer.concat([Buffer.from([0x80 | digits.length]), digits]);
}

export const sequence = (...elements: readonly Uint8Array[]): Buffer => element(0x30, ...elements);
export const setOf = (...elements: readonly Uint8Array[]): Buffer => element(0x31, ...elements);
export const octetString = (content: Uint8Array): Buffer => element(0x04, content);
export const bitString = (content: Uint8Array, unusedBits = 0): Buffer =>
  element(0x03, Buffer.from([unusedBits]), content);
export const boolean = (value: boolean): Buffer => element(0x01, Buffer.from([value ? 0xff : 0]));

/** Encodes a non-negative integer from its big-endian bytes. */
export function integer(magnitude: Uint8Array): Buffer {
  const digits = Buffer.from(magnitude);
  const start = digits.findIndex((byte) => byte !== 0);
  const significant = start < 0 ? Buffer.from([0]) : digits.subarray(start);
  const isHigh = (significant[0] ?? 0) >= 0x80;
  return element(0x02, ...(isHigh ? [Buffer.from([0])] : []), significant);
}

/** Encodes an object identifier from its dotted form. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const groups = (arc: number): number[] => {
    const bytes = [arc & 0x7f];
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128)) bytes.unshift(0x80 | (left & 0x7f));
    return bytes;
  };
  return element(0x06, Buffer.from([first * 40 + second, ...rest].flatMap(groups)));
}

/** Encodes a PrintableString if the text allows it, otherwise a UTF8String, as Go's encoder does. */
export function directoryString(text: string): Buffer {
  return element(/^[A-Za-z0-9 '()+,\-./:=?*&]*$/.test(text) ? 0x13 : 0x0c, Buffer.from(text));
}

/** Encodes a time for certificates: UTCTime before 2050, otherwise GeneralizedTime (RFC 5280, 4.1.2.5). */
export function time(ms: number): Buffer {
  const digits = `${new Date(ms).toISOString().replace(/\D/g, '').slice(0, 14)}Z`;
  return digits < '2050' ? element(0x17, Buffer.from(digits.slice(2))) : element(0x18, Buffer.from(digits));
}

/** Returns the 4 or 16 bytes of an IP address. @throws Error if the address is invalid */
export function ipBytes(ip: string): Buffer {
  return Buffer.from(ipaddr.parse(ip).toByteArray());
}

/** Returns the elements of a constructed element, each with its header. @throws RangeError if the DER is invalid */
export function elementsOf(der: Uint8Array): Buffer[] {
  const bytes = Buffer.from(der);
  const outer = headerAt(bytes, 0);
  if (outer.end !== bytes.length) throw new RangeError('trailing data after the element');
  const found: Buffer[] = [];
  for (let at = outer.content; at < outer.end; ) {
    const { end } = headerAt(bytes, at);
    found.push(bytes.subarray(at, end));
    at = end;
  }
  return found;
}

/** Returns the content of an element without its header. */
export function contentOf(der: Uint8Array): Buffer {
  const bytes = Buffer.from(der);
  return bytes.subarray(headerAt(bytes, 0).content);
}

function headerAt(bytes: Buffer, at: number): { readonly content: number; readonly end: number } {
  const first = bytes.readUInt8(at + 1);
  const digits = first < 0x80 ? 0 : first & 0x7f;
  if (digits > 4 || first === 0x80) throw new RangeError('an element has an invalid DER length');
  const length = digits === 0 ? first : bytes.readUIntBE(at + 2, digits);
  const content = at + 2 + digits;
  if (content + length > bytes.length) throw new RangeError('a DER element is truncated: its length exceeds the data');
  return { content, end: content + length };
}
