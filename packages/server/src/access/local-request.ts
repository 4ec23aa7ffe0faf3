import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Names of this machine's loopback interface, with any port: a port may be forwarded (`ssh -L`). */
const LOCAL_HOST = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i;

/**
 * Returns why a request to a loopback port is rejected, or `undefined`. A browser sends the name that the user's page
 * uses: with DNS rebinding, the name of a foreign site that now resolves to 127.0.0.1. A request that a foreign page
 * starts has the origin of that page.
 */
export function localRequestProblem({
  host,
  origin,
}: Pick<IncomingHttpHeaders, 'host' | 'origin'>): string | undefined {
  if (host === undefined || !LOCAL_HOST.test(host)) return 'the Host header must name the loopback interface';
  if (origin !== undefined && origin !== `http://${host}`) return 'requests of other web sites are not answered';
  return undefined;
}

/** Compares two secrets in a time that does not depend on where they differ. */
export function isSameSecret(given: string, secret: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(secret));
}
