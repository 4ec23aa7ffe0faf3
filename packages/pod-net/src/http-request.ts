import { domainToASCII } from 'node:url';
import type { Container, Probe } from '@node-agent/pod-spec';
import { PodNetError } from './errors.ts';
import { type GoUrl, hostParts, parseUrl, pathUrl, requestUri, urlText } from './go-url.ts';
import { resolvePort } from './resolve-port.ts';

/** `httpGet` handler of a probe or lifecycle hook. */
export type HttpGetAction = NonNullable<Probe['httpGet']>;

/** GET request that is ready to be sent. */
export interface HttpGetRequest {
  readonly scheme: string;
  /** Host name or IP address, without brackets. */
  readonly host: string;
  readonly port: number;
  /** Path and query in the form in which they are sent, one byte per character. */
  readonly target: string;
  /**
   * Header fields; a name may occur more than once. The client itself sets the following fields, whose values here are
   * not sent: `Host`, `Content-Length`, `Transfer-Encoding`, `Trailer`.
   */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Value of the `Host` header. Default: host and port. */
  readonly hostHeader?: string;
  /**
   * URL, one byte per character. Set only if the URL differs from the one that scheme, host, port and target make, for
   * example because it contains a user for basic authentication.
   */
  readonly url?: string;
}

export interface HttpGetRequestOptions {
  /** IP address of the pod. Requests go to this address unless the action names a host. */
  readonly podIp: string;
  /** `User-Agent`, such as `kube-probe/1.36`. A `User-Agent` header of the action replaces it. */
  readonly userAgent: string;
}

const PORTS: Readonly<Record<string, number>> = { http: 80, https: 443 };

/**
 * Builds the request for an `httpGet` action (`NewRequestForHTTPGetAction` in `pkg/probe/http/request.go`).
 * `User-Agent` and `Accept` have defaults. An empty value in the action removes the header; if the action has several
 * `User-Agent` headers, the first one is sent.
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

/** Builds the request for a URL. */
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

/** Returns the URL of a request as messages show it; one byte per character. */
export function urlOf({ scheme, host, port, target, url }: HttpGetRequest): string {
  return url ?? `${scheme}://${hostAndPort(host, port)}${target}`;
}

/** Returns a copy of a request with another scheme and the same port. */
export function withScheme(request: HttpGetRequest, scheme: string): HttpGetRequest {
  const { url, ...rest } = request;
  return { ...rest, scheme, ...(url !== undefined && { url: scheme + url.slice(request.scheme.length) }) };
}

/** Formats `host:port`, with brackets around an IPv6 address. */
export function hostAndPort(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/**
 * Canonicalises a header name: `x-FOO-bar` becomes `X-Foo-Bar`. Names that are not HTTP tokens are returned unchanged,
 * as Go's `CanonicalMIMEHeaderKey` does.
 */
export function canonicalName(name: string): string {
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)) return name;
  return name.toLowerCase().replace(/(^|-)[a-z]/g, (letters) => letters.toUpperCase());
}

/** Encodes text as UTF-8 bytes, one per character. */
export function utf8Bytes(text: string): string {
  return /[^\0-\x7f]/.test(text) ? Buffer.from(text).toString('latin1') : text;
}

/**
 * Builds the URL of an action (`formatURL` in `pkg/probe/http/request.go`). A scheme and host inside the path are
 * ignored. A path that cannot be parsed as a URL is used as a literal path.
 */
function actionUrl(scheme: string, host: string, path: string): GoUrl {
  const bytes = utf8Bytes(path);
  const parsed = parseUrl(bytes);
  const own = typeof parsed === 'string' ? pathUrl(bytes) : parsed;
  const text = urlText({ ...own, scheme, host: utf8Bytes(host) });
  const url = parseUrl(text);
  if (typeof url === 'string') throw new PodNetError('InvalidUrl', url);
  return url;
}

/** Converts a host name to the ASCII form that is looked up in DNS. */
function asciiHost(name: string): string {
  if (!/[^\0-\x7f]/.test(name)) return name;
  const text = Buffer.from(name, 'latin1').toString();
  return domainToASCII(text) || text;
}
