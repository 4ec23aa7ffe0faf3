import type { Container, Probe } from '@node-agent/pod-spec';
import { requestTarget } from './request-target.ts';
import { resolvePort } from './resolve-port.ts';

/** The `httpGet` of a probe or of a lifecycle hook. */
export type HttpGetAction = NonNullable<Probe['httpGet']>;

/** One GET request, ready to be sent. */
export interface HttpGetRequest {
  readonly scheme: string;
  /** A name or an address, without brackets. */
  readonly host: string;
  readonly port: number;
  /** Path and query as they are sent. */
  readonly target: string;
  /** Without `Host`. A name may come more than once. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** What the `Host` header says, where it is not the host and port. */
  readonly hostHeader?: string;
}

export interface HttpGetRequestOptions {
  /** The pod's address: where the request goes, unless the action names a host. */
  readonly podIp: string;
  /** Sent unless the action has a header of this name, as `kube-probe/1.36`. */
  readonly userAgent: string;
}

/** They are the client's own to set: upstream's client never sends what a pod says of them. */
const NOT_SENT = new Set(['Host', 'Content-Length', 'Transfer-Encoding', 'Trailer']);

/**
 * The request that an `httpGet` asks for (`NewRequestForHTTPGetAction` in `pkg/probe/http/request.go`). `User-Agent` and `Accept` are
 * set where the action does not: an empty value of its own takes them away.
 * @throws PodNetError `InvalidPort`
 */
export function httpGetRequest(
  action: HttpGetAction,
  container: Pick<Container, 'ports'>,
  { podIp, userAgent }: HttpGetRequestOptions,
): HttpGetRequest {
  const headers = (action.httpHeaders ?? []).map(({ name, value }) => [canonicalName(name), value ?? ''] as const);
  const first = (wanted: string): string | undefined => headers.find(([name]) => name === wanted)?.[1];
  const defaulted = (name: string, value: string): (readonly [string, string])[] => {
    const own = first(name);
    if (own === undefined) return [[name, value]];
    return own === '' ? [] : headers.filter((header) => header[0] === name);
  };
  const hostHeader = first('Host');
  return {
    scheme: (action.scheme || 'http').toLowerCase(),
    host: action.host || podIp,
    port: resolvePort(action.port, container),
    target: requestTarget(action.path ?? ''),
    headers: [
      ...defaulted('User-Agent', userAgent),
      ...defaulted('Accept', '*/*'),
      ...headers.filter(([name]) => name !== 'User-Agent' && name !== 'Accept' && !NOT_SENT.has(name)),
    ],
    ...(hostHeader && { hostHeader }),
  };
}

/** The URL of a request, as messages show it. */
export function urlOf({ scheme, host, port, target }: HttpGetRequest): string {
  return `${scheme}://${hostAndPort(host, port)}${target}`;
}

/** `host:port`, an IPv6 address in brackets. */
export function hostAndPort(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** `x-FOO-bar` is `X-Foo-Bar`; what is no token stays as it is, as Go's `CanonicalMIMEHeaderKey` leaves it. */
function canonicalName(name: string): string {
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)) return name;
  return name.toLowerCase().replace(/(^|-)[a-z]/g, (letters) => letters.toUpperCase());
}
