import { domainToASCII } from 'node:url';
import { goQuote } from './go-quote.ts';
import { type GoUrl, parseUrl } from './go-url.ts';
import { trimmed } from './header-fields.ts';
import { canonicalName, type HttpGetRequest, urlOf, utf8Bytes } from './http-request.ts';

/** A request as it is sent, which may be the result of a redirect. */
export interface SentRequest extends HttpGetRequest {
  /** Value of the `Referer` header, one byte per character. A `Referer` header of the action takes precedence. */
  readonly referer?: string;
  /** Whether headers that describe a body are still sent. A redirect may have removed them. */
  readonly keepsBodyHeaders?: boolean;
}

/** Header fields in the form in which they are sent, one byte per character. */
export interface RequestFields {
  /** Value of the `Host` header. Empty if the host contains characters that cannot be sent. */
  readonly host: string;
  /** `User-Agent` first, then the other fields sorted by name. Fields of the same name keep their order. */
  readonly others: readonly (readonly [name: string, value: string])[];
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that it is about
const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/;
/** Headers that the client controls. Values in the action are not sent. */
const NOT_SENT = new Set(['Host', 'Content-Length', 'Transfer-Encoding', 'Trailer']);

/** Go's error text for a request that cannot be sent. */
export interface RequestFault {
  readonly fault: string;
}

/** Cached heads of request objects that are sent repeatedly. */
const heads = new WeakMap<HttpGetRequest, string | RequestFault>();

/** Returns the head of an HTTP/1.1 request, one byte per character (`Request.write` in net/http/request.go). */
export function requestHead(request: SentRequest): string | RequestFault {
  let head = heads.get(request);
  if (head === undefined) {
    head = written(request);
    heads.set(request, head);
  }
  return head;
}

/** Returns the header fields of a request, for HTTP/1.1 and HTTP/2. */
export function requestFields(request: SentRequest): RequestFields | RequestFault {
  const url = parseUrl(urlOf(request));
  if (typeof url === 'string') return { fault: url };
  const fields = new Map<string, string[]>();
  for (const [name, value] of [...request.headers, ['Host', request.hostHeader ?? ''] as const]) {
    if (!TOKEN.test(name)) return { fault: `net/http: invalid header field name ${goQuote(utf8Bytes(name))}` };
    if (CONTROL.test(value)) return { fault: `net/http: invalid header field value for ${goQuote(name)}` };
    const key = canonicalName(name);
    const before = fields.get(key);
    if (before === undefined) fields.set(key, [utf8Bytes(value)]);
    else before.push(utf8Bytes(value));
  }
  if (url.host === '') return { fault: 'http: no Host in request URL' };
  if (request.referer !== undefined) fields.set('Referer', [fields.get('Referer')?.[0] || request.referer]);
  if (url.user !== undefined && !fields.get('Authorization')?.[0]) fields.set('Authorization', [basicAuth(url.user)]);
  const [agent = ''] = fields.get('User-Agent') ?? [];
  fields.delete('User-Agent');
  const host = hostField(utf8Bytes(request.hostHeader ?? '') || url.host);
  if (typeof host !== 'string') return host;
  const names = [...fields.keys()].filter((name) => !NOT_SENT.has(name)).sort();
  const others = names.flatMap((name) => (fields.get(name) ?? []).map((value) => [name, trimmed(value)] as const));
  return { host, others: agent === '' ? others : [['User-Agent', trimmed(agent)], ...others] };
}

function written(request: SentRequest): string | RequestFault {
  const fields = requestFields(request);
  if ('fault' in fields) return fields;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: as above
  if (/[\0-\x1f\x7f]/.test(request.target)) return { fault: "net/http: can't write control character in Request.URL" };
  const { host, others } = fields;
  let head = `GET ${request.target} HTTP/1.1\r\nHost: ${host}\r\n`;
  for (const [name, value] of others) head += `${name}: ${value}\r\n`;
  return `${head}${saysHowItEnds(others) ? '' : 'Connection: close\r\n'}\r\n`;
}

/**
 * Reports whether the action's own headers close or upgrade the connection, so that `Connection: close` is not added.
 */
function saysHowItEnds(fields: RequestFields['others']): boolean {
  const connection = fields.filter(([name]) => name === 'Connection').map(([, value]) => value);
  if (/(?:^|[ \t,])close(?:$|[ \t,])/i.test(connection[0] ?? '')) return true;
  const upgrade = fields.find(([name]) => name === 'Upgrade')?.[1] ?? '';
  return (
    upgrade !== '' && connection.some((value) => value.split(',').some((token) => /^[ \t]*upgrade[ \t]*$/i.test(token)))
  );
}

/**
 * Converts a `Host` value to ASCII and removes the zone of an IPv6 address. Returns an empty text if the value contains
 * characters that cannot be sent.
 */
function hostField(host: string): string | RequestFault {
  let ascii = host;
  if (/[^\0-\x7f]/.test(host)) {
    const [, name = host, port = ''] = /^(.*?)(:[^:]*)?$/s.exec(host) ?? [];
    const punycode = domainToASCII(Buffer.from(name, 'latin1').toString());
    if (punycode === '') return { fault: `idna: invalid label ${goQuote(name)}` };
    ascii = punycode + port;
  }
  if (!/^[0-9A-Za-z!$%&()*+,\-.:;=['\]_~]*$/.test(ascii)) return '';
  return ascii.replace(/^(\[.*)%[^%]*(\][^\]]*)$/s, '$1$2');
}

function basicAuth({ name, password = '' }: NonNullable<GoUrl['user']>): string {
  return `Basic ${Buffer.from(`${name}:${password}`, 'latin1').toString('base64')}`;
}
