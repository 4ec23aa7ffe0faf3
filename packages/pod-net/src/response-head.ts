import { goQuote, MAX_QUOTED } from './go-quote.ts';
import { type HeaderFields, trimmed } from './header-fields.ts';

/** Status line of a response. */
export interface StatusLine {
  readonly status: number;
  /** Whether the HTTP version supports chunked bodies (HTTP/1.1 or later). */
  readonly knowsChunks: boolean;
}

/** Framing of a body, which determines its end: the length in bytes, a last chunk, or the end of the connection. */
export type Framing = number | 'chunked' | 'until close';

const MAX_LENGTH = '9223372036854775807';

/** Parses a status line (`ReadResponse` in net/http). @returns the status line, or Go's error text */
export function statusLine(line: string): StatusLine | string {
  const space = line.indexOf(' ');
  if (space < 0) return `malformed HTTP response ${goQuote(line)}`;
  const proto = line.slice(0, space);
  const [code = ''] = line.slice(space).replace(/^ +/, '').split(' ', 1);
  if (!/^(?:\d|\+)\d\d$/.test(code) && code !== '-00') return `malformed HTTP status code ${goQuote(code)}`;
  const [, version = ''] = /^HTTP\/(\d\.\d)$/.exec(proto) ?? [];
  if (version === '') return `malformed HTTP version ${goQuote(proto)}`;
  // Go treats version 0.0 as if the version were unknown, and accepts chunks.
  return { status: Math.abs(Number(code)), knowsChunks: version >= '1.1' || version === '0.0' };
}

/**
 * Determines how the body of a response is framed (`readTransfer` in net/http/transfer.go). @returns the framing, or
 * Go's error text in `fault`
 */
export function framingOf(
  { status, knowsChunks }: StatusLine,
  { contentLengths, transferEncodings, trailers }: HeaderFields,
): Framing | { readonly fault: string } {
  const isChunked = knowsChunks && transferEncodings.length > 0;
  if (isChunked) {
    if (transferEncodings.length > 1) return { fault: `too many transfer encodings: ${quotedList(transferEncodings)}` };
    const [encoding = ''] = transferEncodings;
    if (!/^chunked$/i.test(encoding)) return { fault: `unsupported transfer encoding: ${goQuote(encoding)}` };
  }
  const length = contentLengths.length === 0 ? undefined : lengthOf(contentLengths);
  if (typeof length === 'string') return { fault: length };
  if (isChunked) {
    const bad = trailers.flatMap((value) => value.split(',')).map(trimmed);
    const key = bad.find((name) => /^(?:transfer-encoding|trailer|content-length)$/i.test(name));
    if (key !== undefined) return { fault: `bad trailer key ${goQuote(canonical(key))}` };
  }
  if ((status >= 100 && status < 200) || status === 204 || status === 304) return 0;
  return isChunked ? 'chunked' : (length ?? 'until close');
}

/** Parses the values of all Content-Length headers. @returns the length, or Go's error text */
function lengthOf(values: readonly string[]): number | string {
  const text = trimmed(values[0] ?? '');
  if (values.length === 1 && /^\d{1,15}$/.test(text)) return Number(text);
  if (values.length > 1 && values.some((value) => trimmed(value) !== text)) {
    return `http: message cannot contain multiple Content-Length headers; got ${quotedList(values)}`;
  }
  if (text === '') return 'invalid empty Content-Length ""';
  const digits = text.replace(/^0+(?=\d)/, '');
  const isNumber = /^\d{1,19}$/.test(digits) && (digits.length < MAX_LENGTH.length || digits <= MAX_LENGTH);
  return isNumber ? Number(digits) : `bad Content-Length ${goQuote(text)}`;
}

function quotedList(values: readonly string[]): string {
  return `[${values.slice(0, MAX_QUOTED).map(goQuote).join(' ')}]`;
}

function canonical(name: string): string {
  return name.toLowerCase().replace(/(?:^|-)[a-z]/g, (letters) => letters.toUpperCase());
}
