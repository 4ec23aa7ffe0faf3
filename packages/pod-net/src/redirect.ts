import { goQuote } from './go-quote.ts';
import { hostParts, parseUrl, resolveUrl, urlText, withoutPassword } from './go-url.ts';
import { type HttpGetRequest, requestTo, urlOf } from './http-request.ts';
import type { SentRequest } from './request-head.ts';

/** Decision whether and how a redirect is followed. */
export type Redirect =
  /** The response is final: it is no redirect, or it redirects to another host. */
  | { readonly kind: 'none' }
  | { readonly kind: 'follow'; readonly request: SentRequest }
  | {
      readonly kind: 'fault';
      readonly url: string;
      readonly message: string;
      /** Whether Go finds this fault only after it has read the body. */
      readonly readsBody?: boolean;
    };

/** Maximum number of requests per action, including the first. */
const MAX_REQUESTS = 10;

/**
 * Maximum length of a `Location` header, longer than any browser accepts. Parsing longer values would block the event
 * loop.
 */
const MAX_LOCATION_LENGTH = 16 * 1024;

/** Decision for a final response, which is not followed by another request. */
export const NO_REDIRECT: Redirect = { kind: 'none' };

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/**
 * Headers that describe a request body. They are removed after most redirects, because no request of this package has a
 * body.
 */
const OF_A_BODY = new Set(['Content-Encoding', 'Content-Language', 'Content-Location', 'Content-Type']);

/**
 * Decides whether a response is followed by another request (`RedirectChecker` in `pkg/probe/http/http.go`, `do` in
 * net/http/client.go; R3). A redirect is followed only to the host of the first request; the port and scheme may
 * differ.
 * @param location one byte per character
 * @param sent number of requests sent so far
 */
export function redirectOf(
  request: SentRequest,
  first: HttpGetRequest,
  status: number,
  location: string | undefined,
  sent: number,
): Redirect {
  if (!REDIRECTS.has(status) || location === undefined || location === '') return NO_REDIRECT;
  const from = urlOf(request);
  const fault = (words: string): Redirect => ({
    kind: 'fault',
    url: withoutPassword(from),
    message: `failed to parse Location header ${words}`,
  });
  if (location.length > MAX_LOCATION_LENGTH) {
    return fault(`of ${location.length} bytes that begin with ${goQuote(location.slice(0, 64))}`);
  }
  const base = parseUrl(from);
  if (typeof base === 'string') return fault(base);
  const to = resolveUrl(base, location);
  if (typeof to === 'string') return fault(`${goQuote(location)}: ${to}`);
  if (hostParts(to.host)[0] !== hostnameOf(first)) return NO_REDIRECT;
  if (sent >= MAX_REQUESTS) {
    return { kind: 'fault', url: location, message: `stopped after ${MAX_REQUESTS} redirects`, readsBody: true };
  }
  // Go keeps a custom Host header only if the location is relative.
  const keepsHost = request.hostHeader !== base.host && !/^[A-Za-z][A-Za-z0-9+\-.]*:/.test(location);
  const keepsBody = (request.keepsBodyHeaders ?? true) && (status === 307 || status === 308);
  const headers = keepsBody ? first.headers : first.headers.filter(([name]) => !OF_A_BODY.has(name));
  const isUnsafe = base.scheme === 'https' && to.scheme === 'http';
  return {
    kind: 'follow',
    request: {
      ...requestTo(to, headers, keepsHost ? request.hostHeader : undefined),
      keepsBodyHeaders: keepsBody,
      ...(!isUnsafe && { referer: urlText({ ...base, user: undefined }) }),
    },
  };
}

function hostnameOf(request: HttpGetRequest): string {
  const url = parseUrl(urlOf(request));
  return typeof url === 'string' ? request.host : hostParts(url.host)[0];
}
