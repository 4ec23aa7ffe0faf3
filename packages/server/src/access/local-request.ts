import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Names of this machine's loopback interface, with any port: a port may be forwarded (`ssh -L`). */
const LOCAL_HOST = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i;

/**
 * Returns why a request to a loopback port is rejected, or `undefined` if the request is accepted. A browser sends in
 * `Host` the host name of the URL: after DNS rebinding, the name of a foreign site that now resolves to 127.0.0.1. In
 * `Origin`, a browser sends the origin of the page that makes the request.
 */
export function localRequestProblem({
  host,
  origin,
}: Pick<IncomingHttpHeaders, 'host' | 'origin'>): string | undefined {
  if (host === undefined || !LOCAL_HOST.test(host)) return 'the Host header must name the loopback interface';
  if (origin !== undefined && origin !== `http://${host}`) return 'requests of other web sites are not answered';
  return undefined;
}

/** Compares two secrets in a time that does not depend on the position of the first difference. */
export function isSameSecret(given: string, secret: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(secret));
}
