import type { Clock } from '@node-agent/async';
import { type CredentialSource, type Environment, NodeTransport, proxyFor } from '@node-agent/kube-client';
import type { Fetch } from '@node-agent/pod-config';
import type { Logger } from '@node-agent/telemetry';

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const MAX_REDIRECTS = 10;
/** Headers that are sent only to the original host and its subdomains. */
const SENSITIVE: ReadonlySet<string> = new Set(['authorization', 'cookie', 'cookie2', 'www-authenticate']);

type Headers = readonly (readonly [string, string])[];

/**
 * Creates the `fetch` for `staticPodURL`. Behaves like Go's `http.Client`, which upstream uses: it uses the
 * environment's proxies, trusts the machine's certificate authorities, connects to any port and follows up to ten
 * redirects. `globalThis.fetch` lacks the first three of these properties.
 */
export function manifestFetch(
  components: { readonly clock: Clock; readonly logger: Logger },
  environment: Environment,
): Fetch {
  return async (url, { headers, signal }) => {
    let target = new URL(url);
    let sent: Headers = headers;
    for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
      const options = { server: target.origin, proxy: proxyFor(target, undefined, environment) };
      const transport = new NodeTransport({ ...components, credentials: headersOnly(sent) }, options);
      // The caller also aborts `signal` after it has read enough of the response body.
      signal.addEventListener('abort', () => transport.closeConnections(), { once: true });
      const path = `${target.pathname}${target.search}`;
      const response = await transport.request({ method: 'GET', path, headers: {} }, signal);
      const { location } = response.headers;
      if (!REDIRECTS.has(response.status) || location === undefined) {
        const get = (name: string): string | null => response.headers[name.toLowerCase()] ?? null;
        return { status: response.status, headers: { get }, body: response.body };
      }
      transport.closeConnections();
      const next = URL.parse(location, target.href);
      if (next === null || !/^https?:$/.test(next.protocol))
        throw new Error('redirected to a URL that is neither http nor https');
      sent = headersFor(target, next, sent);
      target = next;
    }
    throw new Error(`stopped after ${MAX_REDIRECTS} redirects`);
  };
}

/** Returns the headers to send with a redirected request. */
export function headersFor(from: URL, to: URL, headers: Headers): Headers {
  const isWithin = to.hostname === from.hostname || to.hostname.endsWith(`.${from.hostname}`);
  return isWithin ? headers : headers.filter(([name]) => !SENSITIVE.has(name.toLowerCase()));
}

/** Returns credentials without TLS settings that add the given headers. Repeated headers keep all their values. */
function headersOnly(headers: Headers): CredentialSource {
  const named = Object.entries(Object.groupBy(headers, ([name]) => name.toLowerCase()));
  const all = Object.fromEntries(named.map(([name, pairs = []]) => [name, pairs.map(([, value]) => value)]));
  const current = { tls: { ca: undefined, cert: undefined, key: undefined }, headers: all };
  return { current: async () => current, reject: () => {} };
}
