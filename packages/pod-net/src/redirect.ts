import { goQuote } from './go-quote.ts';
import { hostParts, parseUrl, resolveUrl, urlText, withoutPassword } from './go-url.ts';
import { type HttpGetRequest, requestTo, urlOf } from './http-request.ts';
import type { SentRequest } from './request-head.ts';

/** Where an answer leads. */
export type Redirect =
  /** The answer is the last one: it leads nowhere, or to another host. */
  | { readonly kind: 'none' }
  | { readonly kind: 'follow'; readonly request: SentRequest }
  | {
      readonly kind: 'fault';
      readonly url: string;
      readonly message: string;
      /** Whether that is found when the body has been looked at. */
      readonly readsBody?: boolean;
    };

/** So many requests are sent for one action at most, the first one among them. */
const MAX_REQUESTS = 10;

/** Longer than any browser takes: to look at more would hold up everybody else. */
const MAX_LOCATION_LENGTH = 16 * 1024;

/** The answer is the last one. */
export const NO_REDIRECT: Redirect = { kind: 'none' };

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** They are of a body, which none of these requests has. */
const OF_A_BODY = new Set(['Content-Encoding', 'Content-Language', 'Content-Location', 'Content-Type']);

/**
 * What follows an answer: a redirect is followed to the host of the first request alone, whatever its port and scheme
 * (`RedirectChecker` in `pkg/probe/http/http.go`, `do` in net/http/client.go; R3).
 * @param location one byte a character
 * @param sent how many requests were sent by now
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
  // A host header of the pod's own is kept where the place is told without a scheme.
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
