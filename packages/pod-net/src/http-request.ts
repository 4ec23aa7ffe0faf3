import { domainToASCII } from 'node:url';
import type { Container, Probe } from '@node-agent/pod-spec';
import { PodNetError } from './errors.ts';
import { type GoUrl, hostParts, parseUrl, pathUrl, requestUri, urlText } from './go-url.ts';
import { resolvePort } from './resolve-port.ts';

/** The `httpGet` of a probe or of a lifecycle hook. */
export type HttpGetAction = NonNullable<Probe['httpGet']>;

/** One GET request, ready to be sent. */
export interface HttpGetRequest {
  readonly scheme: string;
  /** A name or an address, without brackets. */
  readonly host: string;
  readonly port: number;
  /** Path and query as they are sent, one byte a character. */
  readonly target: string;
  /** A name may come more than once. Those that are the client's own to set are not sent: `Host`, `Content-Length`, `Transfer-Encoding`, `Trailer`. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** What the `Host` header says, where it is not the host and port. */
  readonly hostHeader?: string;
  /** The URL, one byte a character, where it is not what scheme, host, port and target make: with a user, say, who is authorized by it. */
  readonly url?: string;
}

export interface HttpGetRequestOptions {
  /** The pod's address: where the request goes, unless the action names a host. */
  readonly podIp: string;
  /** Sent unless the action has a header of this name, as `kube-probe/1.36`. */
  readonly userAgent: string;
}

const PORTS: Readonly<Record<string, number>> = { http: 80, https: 443 };

/**
 * The request that an `httpGet` asks for (`NewRequestForHTTPGetAction` in `pkg/probe/http/request.go`). `User-Agent` and `Accept` are
 * set where the action does not: an empty value of its own takes them away, and of several agents the first is sent.
 * @throws PodNetError `InvalidPort`, `InvalidUrl`
 */
export function httpGetRequest(
  action: HttpGetAction,
  container: Pick<Container, 'ports'>,
  { podIp, userAgent }: HttpGetRequestOptions,
): HttpGetRequest {
  const headers = (action.httpHeaders ?? []).map(({ name, value }) => [canonicalName(name), value ?? ''] as const);
  const first = (wanted: string): string | undefined => headers.find(([name]) => name === wanted)?.[1];
  const own = new Set(headers.map(([name]) => name));
  const sent = first('Accept') === '' ? headers.filter(([name]) => name !== 'Accept') : headers;
  const port = resolvePort(action.port, container);
  const url = actionUrl(
    (action.scheme || 'http').toLowerCase(),
    hostAndPort(action.host || podIp, port),
    action.path ?? '',
  );
  const defaults = [
    ['User-Agent', userAgent],
    ['Accept', '*/*'],
  ] as const;
  const all = [...defaults.filter(([name]) => !own.has(name)), ...sent];
  return requestTo(url, all, first('Host'));
}

/** The request for a URL. */
export function requestTo(url: GoUrl, headers: HttpGetRequest['headers'], hostHeader = ''): HttpGetRequest {
  const { scheme } = url;
  const [name, port] = hostParts(url.host);
  const request = {
    scheme,
    host: asciiHost(name),
    port: port === '' ? (PORTS[scheme] ?? 0) : Number(port),
    target: requestUri(url),
    headers,
    ...(hostHeader && { hostHeader }),
  };
  const text = urlText(url);
  return text === urlOf(request) ? request : { ...request, url: text };
}

/** The URL of a request, as messages show it; one byte a character. */
export function urlOf({ scheme, host, port, target, url }: HttpGetRequest): string {
  return url ?? `${scheme}://${hostAndPort(host, port)}${target}`;
}

/** The same request by another scheme, to the same port. */
export function withScheme(request: HttpGetRequest, scheme: string): HttpGetRequest {
  const { url, ...rest } = request;
  return { ...rest, scheme, ...(url !== undefined && { url: scheme + url.slice(request.scheme.length) }) };
}

/** `host:port`, an IPv6 address in brackets. */
export function hostAndPort(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** `x-FOO-bar` is `X-Foo-Bar`; what is no token stays as it is, as Go's `CanonicalMIMEHeaderKey` leaves it. */
export function canonicalName(name: string): string {
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)) return name;
  return name.toLowerCase().replace(/(^|-)[a-z]/g, (letters) => letters.toUpperCase());
}

/** Text in UTF-8, one byte a character. */
export function utf8Bytes(text: string): string {
  return /[^\0-\x7f]/.test(text) ? Buffer.from(text).toString('latin1') : text;
}

/** A scheme and a host in a path count for nothing; what is no URL at all is taken for a path (`formatURL`). */
function actionUrl(scheme: string, host: string, path: string): GoUrl {
  const bytes = utf8Bytes(path);
  const parsed = parseUrl(bytes);
  const own = typeof parsed === 'string' ? pathUrl(bytes) : parsed;
  const text = urlText({ ...own, scheme, host: utf8Bytes(host) });
  const url = parseUrl(text);
  if (typeof url === 'string') throw new PodNetError('InvalidUrl', url);
  return url;
}

/** A name as it is looked up. */
function asciiHost(name: string): string {
  if (!/[^\0-\x7f]/.test(name)) return name;
  const text = Buffer.from(name, 'latin1').toString();
  return domainToASCII(text) || text;
}
