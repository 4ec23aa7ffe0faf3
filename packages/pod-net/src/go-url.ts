import { isIPv4, isIPv6 } from 'node:net';
import { goQuote } from './go-quote.ts';
import { escaped, shown, UrlFault, unescaped } from './url-escapes.ts';

/** Parsed URL with the fields of Go's `net/url`. All strings hold bytes, one per character. */
export interface GoUrl {
  /** Scheme in lower case. Empty in a relative reference. */
  readonly scheme: string;
  /** Text after the scheme, if that text does not start with `/`. Otherwise empty. */
  readonly opaque: string;
  readonly user: UserInfo | undefined;
  /** Host including the port, if present; percent-escapes are decoded. */
  readonly host: string;
  /** Path as written, with its percent-escapes. */
  readonly path: string;
  /** Whether the URL contains a `?`, even if the query is empty. */
  readonly hasQuery: boolean;
  readonly query: string;
  /** Fragment as written, with its percent-escapes. */
  readonly fragment: string;
}

/** User name and password of a URL, with percent-escapes decoded. */
interface UserInfo {
  readonly name: string;
  readonly password: string | undefined;
}

const NOTHING = {
  scheme: '',
  opaque: '',
  user: undefined,
  host: '',
  path: '',
  hasQuery: false,
  query: '',
  fragment: '',
};
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that it is about
const CONTROL = /[\0-\x1f\x7f]/;
const USERINFO = /^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/;

/** Parses a URL as Go's `url.Parse` does. @returns the URL, or Go's error text */
export function parseUrl(text: string): GoUrl | string {
  const [own, fragment] = cut(text, '#');
  let parsed = own;
  try {
    const url = parsedWithout(own);
    parsed = text;
    return { ...url, fragment: shown(fragment, 'fragment') };
  } catch (error) {
    if (!(error instanceof UrlFault)) throw error;
    return `parse ${goQuote(parsed)}: ${error.message}`;
  }
}

/** Returns a URL that consists of a path only. Any text is accepted and escaped as needed. */
export function pathUrl(path: string): GoUrl {
  return { ...NOTHING, path: path === '*' ? path : escaped(path, 'path') };
}

/** Formats a URL as Go's `URL.String` does. */
export function urlText(url: GoUrl): string {
  const rest = `${url.hasQuery ? `?${url.query}` : ''}${url.fragment === '' ? '' : `#${url.fragment}`}`;
  const scheme = url.scheme === '' ? '' : `${url.scheme}:`;
  if (url.opaque !== '') return `${scheme}${url.opaque}${rest}`;
  const hasAuthority = url.host !== '' || url.user !== undefined;
  const authority = hasAuthority ? `//${userText(url)}${escaped(url.host, 'host')}` : '';
  const root = url.path !== '' && !url.path.startsWith('/') && url.host !== '' ? '/' : '';
  return `${scheme}${authority}${root}${url.path}${rest}`;
}

/** Returns `user:password@` with escapes, or an empty text if the URL has no user. */
function userText({ user }: GoUrl): string {
  if (user === undefined) return '';
  const password = user.password === undefined ? '' : `:${escaped(user.password, 'userinfo')}`;
  return `${escaped(user.name, 'userinfo')}${password}@`;
}

/** Replaces the password in a URL by `***` for use in messages (`user:***@`). */
export function withoutPassword(text: string): string {
  const url = parseUrl(text);
  if (typeof url === 'string' || url.user?.password === undefined) return text;
  return urlText(url).replace(userText(url), () => `${url.user?.name}:***@`);
}

/** Returns the request target for the first line of an HTTP request. */
export function requestUri({ opaque, path, hasQuery, query }: GoUrl): string {
  const own = opaque === '' ? path || '/' : opaque;
  return hasQuery ? `${own}?${query}` : own;
}

/**
 * Splits a URL's host into the name or address without brackets, and the port. The port is empty if the host has none.
 */
export function hostParts(host: string): readonly [name: string, port: string] {
  const [, before = host, port = ''] = /^(.*):([0-9]*)$/s.exec(host) ?? [];
  return [before.startsWith('[') ? before.slice(1, -1) : before, port];
}

/**
 * Resolves a reference against a base URL that has a host (RFC 3986, 5.2). @returns the resolved URL, or Go's error
 * text
 */
export function resolveUrl(base: GoUrl, text: string): GoUrl | string {
  const ref = parseUrl(text);
  if (typeof ref === 'string') return ref;
  const { host, user } = base;
  const scheme = ref.scheme || base.scheme;
  if (ref.scheme !== '' || ref.host !== '' || ref.user !== undefined) {
    return { ...ref, scheme, path: shown(resolvedPath(ref.path, ''), 'path') };
  }
  const isEmpty = ref.path === '' && !ref.hasQuery;
  const query = isEmpty ? { query: base.query, hasQuery: base.query !== '' } : {};
  const fragment = isEmpty && ref.fragment === '' ? { fragment: base.fragment } : {};
  return { ...ref, ...query, ...fragment, scheme, host, user, path: shown(resolvedPath(base.path, ref.path), 'path') };
}

function parsedWithout(text: string): GoUrl {
  if (CONTROL.test(text)) throw new UrlFault('net/url: invalid control character in URL');
  if (text.startsWith(':')) throw new UrlFault('missing protocol scheme');
  const [, given = ''] = /^([A-Za-z][A-Za-z0-9+\-.]*):/.exec(text) ?? [];
  const scheme = given.toLowerCase();
  const [rest, query] = cut(given === '' ? text : text.slice(given.length + 1), '?');
  const url = { ...NOTHING, scheme, query, hasQuery: text.includes('?') };
  if (!rest.startsWith('/')) {
    if (scheme !== '') return { ...url, opaque: rest };
    const [segment = ''] = rest.split('/', 1);
    if (segment.includes(':')) throw new UrlFault('first path segment in URL cannot contain colon');
  }
  if (!rest.startsWith('//') || (scheme === '' && rest.startsWith('///'))) return { ...url, path: shown(rest, 'path') };
  const slash = rest.indexOf('/', 2);
  const [authority, path] = slash < 0 ? [rest.slice(2), ''] : [rest.slice(2, slash), rest.slice(slash)];
  return { ...url, ...authorityOf(scheme, authority), path: shown(path, 'path') };
}

function authorityOf(scheme: string, authority: string): Pick<GoUrl, 'user' | 'host'> {
  const at = authority.lastIndexOf('@');
  const host = hostOf(scheme, authority.slice(at + 1));
  if (at < 0) return { user: undefined, host };
  const info = authority.slice(0, at);
  if (!USERINFO.test(info)) throw new UrlFault('net/url: invalid userinfo');
  const [name, password] = cut(info, ':');
  const user = {
    name: unescaped(name, 'userinfo'),
    password: info.includes(':') ? unescaped(password, 'userinfo') : undefined,
  };
  return { user, host };
}

function hostOf(scheme: string, host: string): string {
  const open = host.lastIndexOf('[');
  if (open > 0) throw new UrlFault('invalid IP-literal');
  if (open === 0) return literalOf(host);
  const isWeb = scheme === 'http' || scheme === 'https';
  const colon = isWeb ? host.indexOf(':') : host.lastIndexOf(':');
  if (colon >= 0) checkPort(host.slice(colon));
  return unescaped(host, 'host');
}

function literalOf(host: string): string {
  const close = host.lastIndexOf(']');
  if (close < 0) throw new UrlFault("missing ']' in host");
  const port = host.slice(close + 1);
  checkPort(port);
  const inside = host.slice(1, close);
  const zone = inside.indexOf('%25');
  const address =
    zone < 0
      ? unescaped(inside, 'host')
      : unescaped(inside.slice(0, zone), 'host') + unescaped(inside.slice(zone), 'zone');
  if (isIPv4(address)) throw new UrlFault('invalid IP-literal');
  const [bare, zoneName] = cut(address, '%');
  const fault = (words: string): UrlFault => new UrlFault(`invalid host: ParseAddr(${goQuote(address)}): ${words}`);
  if (!isIPv6(bare)) throw fault(/^[^.:]*%/.test(address) ? 'missing IPv6 address' : 'unable to parse IP');
  if (address.includes('%') && zoneName === '') throw fault('zone must be a non-empty string');
  return `[${address}]${port}`;
}

function checkPort(port: string): void {
  if (!/^(?::[0-9]*)?$/.test(port)) throw new UrlFault(`invalid port ${goQuote(port)} after host`);
}

/** Resolves the `.` and `..` segments of a path reference against a base path. */
function resolvedPath(base: string, ref: string): string {
  const full = ref === '' ? base : ref.startsWith('/') ? ref : base.slice(0, base.lastIndexOf('/') + 1) + ref;
  if (full === '') return '';
  const kept: string[] = [];
  const segments = full.split('/');
  for (const segment of segments) {
    if (segment === '..') {
      kept.pop();
      if (kept.length === 1 && kept[0] === '') kept.pop();
    } else if (segment !== '.') {
      kept.push(segment);
    } else if (kept.length === 0) {
      kept.push('');
    }
  }
  const last = segments.at(-1);
  const path = `/${kept.join('/')}${last === '.' || last === '..' ? '/' : ''}`;
  return path.startsWith('//') ? path.slice(1) : path;
}

function cut(text: string, separator: string): readonly [before: string, after: string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
