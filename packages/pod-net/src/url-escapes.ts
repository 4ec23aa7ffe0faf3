import { goQuote } from './go-quote.ts';

/** Parts of a URL. Each part has its own set of characters that are not escaped. */
export type UrlPart = 'path' | 'host' | 'zone' | 'userinfo' | 'fragment';

const UNRESERVED = 'A-Za-z0-9\\-._~';
const HOST = `${UNRESERVED}!"$&'()*+,:;<=>[\\]`;
const PLAIN: Readonly<Record<UrlPart, string>> = {
  path: `${UNRESERVED}$&+,/:;=@`,
  host: HOST,
  zone: HOST,
  userinfo: `${UNRESERVED}$&+,;=`,
  fragment: `${UNRESERVED}!$&()*+,/:;=?@`,
};
const SPECIAL: Readonly<Record<UrlPart, RegExp>> = {
  path: new RegExp(`[^${PLAIN.path}]`, 'g'),
  host: new RegExp(`[^${HOST}]`, 'g'),
  zone: new RegExp(`[^${HOST}]`, 'g'),
  userinfo: new RegExp(`[^${PLAIN.userinfo}]`, 'g'),
  fragment: new RegExp(`[^${PLAIN.fragment}]`, 'g'),
};
/**
 * Matches paths and fragments that Go keeps as written, although Go's own escaping would escape some of their
 * characters.
 */
const FAITHFUL = {
  path: new RegExp(`^[${PLAIN.path}!'()*[\\]%]*$`),
  fragment: new RegExp(`^[${PLAIN.fragment}'[\\]%]*$`),
};
/**
 * Matches escapes, including incomplete ones. `HOST_CHARACTERS` also matches characters that a host must not contain.
 */
const ESCAPES = /%.{0,2}/gs;
const HOST_CHARACTERS = new RegExp(`%.{0,2}|[^${HOST}\\x80-\\xff]`, 'gs');

/** Error with Go's text for a malformed URL. The parsers catch the error and return the text. */
export class UrlFault extends Error {}

/** Percent-encodes the bytes that a part of a URL must not contain unescaped. @param bytes one byte per character */
export function escaped(bytes: string, part: UrlPart): string {
  return bytes.replace(SPECIAL[part], hex);
}

/** Decodes the percent-escapes in a part of a URL. @returns bytes, one per character */
export function unescaped(text: string, part: UrlPart): string {
  const isHost = part === 'host' || part === 'zone';
  for (const [found] of text.matchAll(isHost ? HOST_CHARACTERS : ESCAPES)) {
    if (!found.startsWith('%')) throw new UrlFault(`invalid character ${goQuote(found)} in host name`);
    if (!/^%[0-9A-Fa-f]{2}$/.test(found) || (found !== '%25' && isRefused(found, part))) {
      throw new UrlFault(`invalid URL escape ${goQuote(found)}`);
    }
  }
  return text.replace(/%../g, (found) => String.fromCharCode(codeOf(found)));
}

/**
 * Returns a path or fragment as written if Go keeps it unchanged, otherwise in escaped form. @throws UrlFault if an
 * escape is malformed
 */
export function shown(text: string, part: 'path' | 'fragment'): string {
  const bytes = unescaped(text, part);
  return FAITHFUL[part].test(text) ? text : escaped(bytes, part);
}

/**
 * Reports whether an escape is rejected. In a host, escapes of ASCII characters are rejected. In a zone, escapes of
 * characters that a host must not contain are rejected, except spaces.
 */
function isRefused(found: string, part: UrlPart): boolean {
  const code = codeOf(found);
  if (part === 'host') return code < 0x80;
  return (
    part === 'zone' && code !== 0x20 && hex(String.fromCharCode(code)) === escaped(String.fromCharCode(code), 'host')
  );
}

function codeOf(found: string): number {
  return Number.parseInt(found.slice(1), 16);
}

function hex(byte: string): string {
  return `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
}
