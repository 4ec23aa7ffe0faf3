/** The part of a request's headers that is checked. */
export type FetchHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Returns why a request for data is rejected, or `undefined`. Browsers say in `Sec-Fetch-Site` where a request comes
 * from; the page's own requests have the same origin. A client certificate, or `kubectl proxy`, would let any web page
 * in the same browser open streams, although that page could not read them.
 */
export function crossSiteProblem(headers: FetchHeaders): string | undefined {
  const site = headers['sec-fetch-site'];
  return site === undefined || site === 'same-origin' || site === 'none'
    ? undefined
    : 'requests of other web sites are not answered';
}
