import type { HealthzQuery } from './health/healthz.ts';
import { splitTarget } from './http/request-path.ts';

/** The endpoint that a request selects, with the request's parameters. */
export type Route =
  | { readonly endpoint: 'healthz'; readonly query: HealthzQuery }
  | { readonly endpoint: 'pods' | 'runningpods' | MetricsEndpoint }
  | { readonly endpoint: 'stats/summary'; readonly query: URLSearchParams }
  | { readonly endpoint: 'explain'; readonly namespace: string; readonly name: string }
  | { readonly endpoint: 'notFound' | 'methodNotAllowed' | 'badRequest' };

/** The endpoints that a server may have. */
export type Endpoint = 'healthz' | 'pods' | 'runningpods' | 'stats/summary' | 'explain' | MetricsEndpoint;

type MetricsEndpoint = 'metrics' | (typeof METRICS_PAGES)[number];

const METRICS_PAGES = ['metrics/probes', 'metrics/cadvisor', 'metrics/resource', 'metrics/slis'] as const;

/**
 * Finds the endpoint of a request among those that the server has. All endpoints are read-only: methods other than
 * `GET` and `HEAD` are rejected (W1).
 * @param url the target of the request line: path and query as received, with any content (W3)
 */
export function route(method: string, url: string, endpoints: ReadonlySet<Endpoint>): Route {
  const { path, query } = splitTarget(url);
  let segments: string[];
  try {
    segments = path.split('/').map(decodeURIComponent);
  } catch {
    return { endpoint: 'badRequest' };
  }
  const [before, root, ...rest] = segments;
  const found = before === '' ? find(root ?? '', rest, query) : undefined;
  if (found === undefined || !endpoints.has(found.endpoint)) return { endpoint: 'notFound' };
  return method === 'GET' || method === 'HEAD' ? found : { endpoint: 'methodNotAllowed' };
}

function find(
  root: string,
  rest: readonly string[],
  query: URLSearchParams,
): (Route & { readonly endpoint: Endpoint }) | undefined {
  const [first, second, third] = rest;
  switch (root) {
    case 'healthz': {
      const asked = { verbose: query.has('verbose'), exclude: query.getAll('exclude') };
      if (rest.length === 0) return { endpoint: 'healthz', query: asked };
      return rest.length === 1 && first ? { endpoint: 'healthz', query: { ...asked, check: first } } : undefined;
    }
    case 'pods':
    case 'runningpods':
      // Upstream registers `/pods` and `/runningpods/`, and accepts both with and without the trailing slash.
      return rest.length === 0 || (rest.length === 1 && first === '') ? { endpoint: root } : undefined;
    case 'metrics':
      if (rest.length === 0) return { endpoint: root };
      return rest.length === 1 ? metricsPage(first) : undefined;
    case 'stats':
      return rest.length === 1 && first === 'summary' ? { endpoint: 'stats/summary', query } : undefined;
    case 'explain':
      if (rest.length !== 3 || first !== 'pod' || !second || !third) return undefined;
      return { endpoint: 'explain', namespace: second, name: third };
    default:
      return undefined;
  }
}

function metricsPage(name: string | undefined): { readonly endpoint: MetricsEndpoint } | undefined {
  const endpoint = METRICS_PAGES.find((page) => page === `metrics/${name}`);
  return endpoint && { endpoint };
}
