import type { HeaderField } from './static-table.ts';

const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const VALUE = /^(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?$/;
/** Names of connection-specific headers, which HTTP/2 forbids. */
const FORBIDDEN = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade']);

const EMPTY: HeaderField = ['', ''];

/** A valid header block of a response. */
export interface ResponseHeaders {
  readonly fields: readonly HeaderField[];
  /** The number in `:status`. `undefined` in trailers. */
  readonly httpStatus: number | undefined;
  readonly contentLength: number | undefined;
}

/**
 * Checks a header block as nghttp2 does, the library of Node.js's own client (RFC 9113, section 8.2). Returns
 * `undefined` if the response is malformed. Regular fields whose name or value has characters that HTTP does not allow
 * are left out.
 */
export function responseHeaders(fields: readonly HeaderField[], isTrailers: boolean): ResponseHeaders | undefined {
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
    if (name.startsWith(':')) {
      if (isTrailers || hasRegular || name !== ':status' || httpStatus !== undefined) return undefined;
      if (!/^[1-9]\d\d$/.test(value) || value === '101') return undefined;
      httpStatus = Number(value);
      continue;
    }
    hasRegular = true;
    if (!isLegal(field)) {
      if (/^[A-Z]$/.test(firstIllegal(name))) return undefined;
      hasIllegal = true;
    }
    if (FORBIDDEN.has(name) || (name === 'te' && value.toLowerCase() !== 'trailers')) return undefined;
    if (name === 'content-length') {
      if (contentLength !== undefined || !isLength(value)) return undefined;
      contentLength = Number(value);
    }
  }
  if (!isTrailers && httpStatus === undefined) return undefined;
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
