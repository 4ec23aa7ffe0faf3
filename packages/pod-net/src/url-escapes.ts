import { goQuote } from './go-quote.ts';

/** Parts of a URL: each has characters of its own that stand in it as they are. */
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
/** With what an author may have left without an escape, though it would be written with one. */
const FAITHFUL = {
  path: new RegExp(`^[${PLAIN.path}!'()*[\\]%]*$`),
  fragment: new RegExp(`^[${PLAIN.fragment}'[\\]%]*$`),
};
/** Escapes, whole or not, and what a host cannot have. */
const ESCAPES = /%.{0,2}/gs;
const HOST_CHARACTERS = new RegExp(`%.{0,2}|[^${HOST}\\x80-\\xff]`, 'gs');

/** What is wrong with a URL, in Go's words; told as a value by those who parse. */
export class UrlFault extends Error {}

/** Bytes, one a character, with `%XX` for what does not stand in this part as it is. */
export function escaped(bytes: string, part: UrlPart): string {
  return bytes.replace(SPECIAL[part], hex);
}

/**
 * Bytes, one a character, without their escapes.
 * @throws UrlFault
 */
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

/** A path or fragment as it is shown: as it was written, where that may be. @throws UrlFault */
export function shown(text: string, part: 'path' | 'fragment'): string {
  const bytes = unescaped(text, part);
  return FAITHFUL[part].test(text) ? text : escaped(bytes, part);
}

/** Of a host no ASCII may be escaped; of a zone only what a host may have. */
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
