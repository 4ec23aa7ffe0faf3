import type { HttpGetRequest } from './http-request.ts';
import { hostAndPort, urlOf } from './http-request.ts';

/** Where an answer leads. */
export type Redirect =
  /** The answer is the last one: it leads nowhere, or to another host. */
  | { readonly kind: 'none' }
  | { readonly kind: 'follow'; readonly request: HttpGetRequest }
  | { readonly kind: 'fault'; readonly url: string; readonly message: string };

/** So many requests are sent for one action at most, the first one among them. */
const MAX_REQUESTS = 10;

/** Longer than any browser takes: to look at more would hold up everybody else. */
const MAX_LOCATION_LENGTH = 16 * 1024;

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const PORTS: Readonly<Record<string, number>> = { http: 80, https: 443 };

/**
 * What follows an answer: a redirect is followed to the host of the first request alone, whatever its port and scheme
 * (`RedirectChecker` in `pkg/probe/http/http.go`; R3).
 * @param sent how many requests were sent by now
 */
export function redirectOf(
  request: HttpGetRequest,
  first: HttpGetRequest,
  status: number,
  location: string | undefined,
  sent: number,
): Redirect {
  if (!REDIRECTS.has(status) || location === undefined || location === '') return { kind: 'none' };
  const from = urlOf(request);
  if (location.length > MAX_LOCATION_LENGTH) {
    const shown = JSON.stringify(location.slice(0, 64));
    return {
      kind: 'fault',
      url: from,
      message: `failed to parse Location header: ${location.length} characters that begin with ${shown}`,
    };
  }
  const to = URL.canParse(location, from) ? new URL(location, from) : undefined;
  const scheme = to?.protocol.slice(0, -1) ?? '';
  const port = to?.port ? Number(to.port) : PORTS[scheme];
  if (to === undefined) {
    return { kind: 'fault', url: from, message: `failed to parse Location header ${JSON.stringify(location)}` };
  }
  const host = to.hostname.replace(/^\[|\]$/g, '');
  if (host !== hostOf(first)) return { kind: 'none' };
  if (port === undefined) {
    return { kind: 'fault', url: to.href, message: `unsupported protocol scheme ${JSON.stringify(scheme)}` };
  }
  if (sent >= MAX_REQUESTS) {
    return { kind: 'fault', url: to.href, message: `stopped after ${MAX_REQUESTS} redirects` };
  }
  // A host header of the pod's own is kept on the same server only.
  const keepsHost = request.hostHeader !== undefined && !URL.canParse(location);
  return {
    kind: 'follow',
    request: {
      scheme,
      host,
      port,
      target: to.pathname + to.search,
      headers: [...withoutReferer(request), ...refererFrom(request, scheme)],
      ...(keepsHost && { hostHeader: request.hostHeader }),
    },
  };
}

/** As a URL shows it: lower case, an IPv6 address in its short form. */
function hostOf({ host, port }: HttpGetRequest): string {
  const url = `http://${hostAndPort(host, port)}`;
  return URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, '') : host;
}

function withoutReferer({ headers }: HttpGetRequest): HttpGetRequest['headers'] {
  return headers.filter(([name]) => name !== 'Referer');
}

function refererFrom(request: HttpGetRequest, scheme: string): HttpGetRequest['headers'] {
  return request.scheme === 'https' && scheme === 'http' ? [] : [['Referer', urlOf(request)]];
}
