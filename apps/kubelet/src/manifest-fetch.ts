import type { Clock } from '@node-agent/async';
import { type CredentialSource, type Environment, NodeTransport, proxyFor } from '@node-agent/kube-client';
import type { Fetch } from '@node-agent/pod-config';
import type { Logger } from '@node-agent/telemetry';

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const MAX_REDIRECTS = 10;
/** What goes to the host that it was meant for only, and to those below it. */
const SENSITIVE: ReadonlySet<string> = new Set(['authorization', 'cookie', 'cookie2', 'www-authenticate']);

type Headers = readonly (readonly [string, string])[];

/**
 * Gets what `staticPodURL` leads to as Go's `http.Client` does, which upstream uses: through the environment's proxies, with the authorities
 * that the machine trusts, from any port, after up to ten redirects. `globalThis.fetch` does none of the first three.
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
      // Its caller aborts when it has read what it wants, too.
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
        throw new Error('is redirected to what is no http or https URL');
      sent = headersFor(target, next, sent);
      target = next;
    }
    throw new Error(`stopped after ${MAX_REDIRECTS} redirects`);
  };
}

/** What of the headers goes along with a redirect. */
export function headersFor(from: URL, to: URL, headers: Headers): Headers {
  const isWithin = to.hostname === from.hostname || to.hostname.endsWith(`.${from.hostname}`);
  return isWithin ? headers : headers.filter(([name]) => !SENSITIVE.has(name.toLowerCase()));
}

/** Nobody in particular: all values of a header go as they were given. */
function headersOnly(headers: Headers): CredentialSource {
  const named = Object.entries(Object.groupBy(headers, ([name]) => name.toLowerCase()));
  const all = Object.fromEntries(named.map(([name, pairs = []]) => [name, pairs.map(([, value]) => value)]));
  const current = { tls: { ca: undefined, cert: undefined, key: undefined }, headers: all };
  return { current: async () => current, reject: () => {} };
}
