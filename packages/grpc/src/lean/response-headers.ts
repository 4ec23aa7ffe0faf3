import { type HeaderField, sizeOf } from './static-table.ts';

const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const VALUE = /^(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?$/;
/** Names of connection-specific headers, which HTTP/2 forbids. */
const FORBIDDEN = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade']);

const EMPTY: HeaderField = ['', ''];

/**
 * Limits of a header block, as in Node.js: 128 fields, and 64 KiB, where each field counts 32 bytes more than its name
 * and value. Fields that are left out do not count.
 */
const MAX_HEADER_FIELDS = 128;
export const MAX_HEADER_BYTES = 65_535;
/** Limit of the size of all fields, including those left out, which bounds the time of the check. */
const MAX_CHECKED_BYTES = 16 * MAX_HEADER_BYTES;

/** A valid header block of a response. */
export interface ResponseHeaders {
  readonly fields: readonly HeaderField[];
  /** The number in `:status`. `undefined` in trailers. */
  readonly httpStatus: number | undefined;
  readonly contentLength: number | undefined;
}

/**
 * Checks a header block as nghttp2 does, the library of Node.js's own client (RFC 9113, section 8.2). Returns the first
 * problem if the response is malformed or the block exceeds 128 fields or 65,535 bytes. Regular fields whose name or
 * value has characters that HTTP does not allow are left out.
 */
export function responseHeaders(
  fields: readonly HeaderField[],
  isTrailers: boolean,
): ResponseHeaders | 'malformed' | 'too large' {
  let count = 0;
  let bytes = 0;
  let checkedBytes = 0;
  let httpStatus: number | undefined;
  let contentLength: number | undefined;
  let hasRegular = false;
  let hasIllegal = false;
  // This loop runs twice per response, for headers and trailers. Iterators and destructured arrays would allocate per
  // field.
  for (let at = 0; at < fields.length; at++) {
    const field = fields[at] ?? EMPTY;
    const name = field[0];
    const value = field[1];
    const size = sizeOf(field);
    checkedBytes += size;
    if (checkedBytes > MAX_CHECKED_BYTES) return 'too large';
    if (name.startsWith(':')) {
      if (isTrailers || hasRegular || name !== ':status' || httpStatus !== undefined) return 'malformed';
      if (!/^[1-9]\d\d$/.test(value) || value === '101') return 'malformed';
      httpStatus = Number(value);
    } else hasRegular = true;
    const isKept = isLegal(field);
    if (!isKept && /^[A-Z]$/.test(firstIllegal(name))) return 'malformed';
    hasIllegal ||= !isKept;
    if (FORBIDDEN.has(name) || (name === 'te' && value.toLowerCase() !== 'trailers')) return 'malformed';
    if (name === 'content-length') {
      if (contentLength !== undefined || !isLength(value)) return 'malformed';
      contentLength = Number(value);
    }
    if (!isKept) continue;
    count++;
    bytes += size;
    if (count > MAX_HEADER_FIELDS || bytes > MAX_HEADER_BYTES) return 'too large';
  }
  if (!isTrailers && httpStatus === undefined) return 'malformed';
  return { fields: hasIllegal ? fields.filter(isLegal) : fields, httpStatus, contentLength };
}

/** Returns the first character of a header name that HTTP/2 does not allow, or an empty text. */
function firstIllegal(name: string): string {
  return /[^!#$%&'*+.^_`|~0-9a-z-]/.exec(name)?.[0] ?? '';
}

function isLegal(field: HeaderField): boolean {
  return field[0].startsWith(':') || (TOKEN.test(field[0]) && VALUE.test(field[1]));
}

/** Returns whether a text is a whole number that fits into 63 bits. */
function isLength(text: string): boolean {
  return /^\d+$/.test(text) && BigInt(text) < 2n ** 63n;
}
