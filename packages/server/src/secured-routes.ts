/** The endpoints of the secured server. */
export type SecuredEndpoint =
  | 'attach'
  | 'cadvisorMetrics'
  | 'checkpoint'
  | 'configz'
  | 'containerLogs'
  | 'dashboard'
  | 'events'
  | 'exec'
  | 'explain'
  | 'flagz'
  | 'healthz'
  | 'images'
  | 'logs'
  | 'metrics'
  | 'node'
  | 'pods'
  | 'portForward'
  | 'pprof'
  | 'probeMetrics'
  | 'resourceMetrics'
  | 'run'
  | 'runningpods'
  | 'slis'
  | 'stats'
  | 'statusz'
  | 'verbosity';

interface RouteEntry {
  readonly endpoint: SecuredEndpoint;
  readonly methods: readonly string[];
  /** Segments of the path. A segment `:name` matches any one segment, and a final `*` any number of segments. */
  readonly pattern: readonly string[];
}

const READ = ['GET', 'HEAD'];
const STREAM = ['GET', 'POST'];
/**
 * All methods. For `/debug/flags/v`, upstream routes every method to a handler that rejects unsupported methods itself.
 */
const ANY = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'];
const CONTAINER = ':namespace/:pod/:container';
const CONTAINER_OF_UID = ':namespace/:pod/:uid/:container';

/**
 * Paths and methods as in upstream's `InstallAuthNotRequiredHandlers` and `InstallAuthRequiredHandlers`, plus
 * `explain`, `events`, `images`, `node` and `dashboard`.
 */
const ROUTES: readonly RouteEntry[] = (
  [
    ['healthz', READ, 'healthz'],
    ['healthz', READ, 'healthz/:check'],
    ['pods', READ, 'pods'],
    ['runningpods', READ, 'runningpods'],
    ['metrics', READ, 'metrics'],
    ['probeMetrics', READ, 'metrics/probes'],
    ['cadvisorMetrics', READ, 'metrics/cadvisor'],
    ['resourceMetrics', READ, 'metrics/resource'],
    ['slis', [...READ, 'DELETE'], 'metrics/slis'],
    ['stats', [...READ, 'POST'], 'stats/summary'],
    ['configz', READ, 'configz'],
    ['statusz', READ, 'statusz'],
    ['flagz', READ, 'flagz'],
    ['verbosity', ANY, 'debug/flags/v'],
    ['pprof', ['GET'], 'debug/pprof/*'],
    ['events', READ, 'debug/events'],
    ['images', READ, 'debug/images'],
    ['node', READ, 'debug/node'],
    ['explain', READ, 'debug/explain'],
    ['explain', READ, 'debug/explain/:namespace/:pod'],
    ['dashboard', ['GET'], 'dashboard/*'],
    ['logs', READ, 'logs/*'],
    ['containerLogs', ['GET'], `containerLogs/${CONTAINER}`],
    ['checkpoint', ['POST'], `checkpoint/${CONTAINER}`],
    ['run', ['POST'], `run/${CONTAINER}`],
    ['run', ['POST'], `run/${CONTAINER_OF_UID}`],
    ['exec', STREAM, `exec/${CONTAINER}`],
    ['exec', STREAM, `exec/${CONTAINER_OF_UID}`],
    ['attach', STREAM, `attach/${CONTAINER}`],
    ['attach', STREAM, `attach/${CONTAINER_OF_UID}`],
    ['portForward', STREAM, 'portForward/:namespace/:pod'],
    ['portForward', STREAM, 'portForward/:namespace/:pod/:uid'],
  ] satisfies readonly (readonly [SecuredEndpoint, readonly string[], string])[]
).map(([endpoint, methods, pattern]) => ({ endpoint, methods, pattern: pattern.split('/') }));

/** The result of routing a request. */
export type SecuredRoute =
  | { readonly endpoint: SecuredEndpoint; readonly params: RouteParams; readonly route: string }
  | { readonly endpoint?: undefined; readonly status: 404 }
  | { readonly endpoint?: undefined; readonly status: 405; readonly allow: readonly string[] };

/** The parameters of a path. A parameter that the pattern does not have is empty. */
export interface RouteParams {
  readonly namespace: string;
  readonly pod: string;
  readonly uid: string;
  readonly container: string;
  readonly check: string;
  /** The segments matched by a final `*`. */
  readonly rest: readonly string[];
}

/**
 * Finds the endpoint for a method and the segments of a path. Only endpoints for which `isThere` returns true are
 * found.
 */
export function securedRoute(
  method: string,
  segments: readonly string[],
  isThere: (endpoint: SecuredEndpoint) => boolean,
): SecuredRoute {
  const allow: string[] = [];
  for (const { endpoint, methods, pattern } of ROUTES) {
    const params = isThere(endpoint) ? match(pattern, segments) : undefined;
    if (params === undefined) continue;
    if (methods.includes(method)) return { endpoint, params, route: routeName(pattern) };
    allow.push(...methods);
  }
  return allow.length === 0 ? { status: 404 } : { status: 405, allow };
}

/** Names of path parameters in upstream's routes (`pkg/kubelet/server/server.go`). */
const UPSTREAM_NAMES: Readonly<Record<string, string>> = {
  ':namespace': '{podNamespace}',
  ':pod': '{podID}',
  ':uid': '{uid}',
  ':container': '{containerName}',
  ':check': '{subpath:*}',
  '*': '{subpath:*}',
};

/** Returns a route as upstream writes it: `/containerLogs/{podNamespace}/{podID}/{containerName}`. */
function routeName(pattern: readonly string[]): string {
  return `/${pattern.map((part) => UPSTREAM_NAMES[part] ?? part).join('/')}`;
}

function match(pattern: readonly string[], segments: readonly string[]): RouteParams | undefined {
  const isOpen = pattern.at(-1) === '*';
  const fixed = isOpen ? pattern.length - 1 : pattern.length;
  if (isOpen ? segments.length < fixed : segments.length !== fixed) return undefined;
  const params = { namespace: '', pod: '', uid: '', container: '', check: '' };
  for (const [index, part] of pattern.slice(0, fixed).entries()) {
    const segment = segments[index] ?? '';
    if (part.startsWith(':')) params[part.slice(1) as keyof typeof params] = segment;
    else if (part !== segment) return undefined;
  }
  return { ...params, rest: segments.slice(fixed) };
}

/**
 * Path roots for which upstream returns 405 if the configuration's `enableDebuggingHandlers` is false. Upstream returns
 * 405 for no other paths.
 */
const DEBUGGING_ROOTS: ReadonlySet<string> = new Set(['run', 'exec', 'attach', 'portForward', 'containerLogs', 'logs']);
const ALWAYS_ON: ReadonlySet<SecuredEndpoint> = new Set([
  ...(['healthz', 'pods', 'stats', 'metrics', 'probeMetrics', 'cadvisorMetrics', 'resourceMetrics', 'slis'] as const),
]);

/** Returns whether a path gets a 405 when debugging handlers are disabled. */
export function isDebuggingPath([first = '', second = '']: readonly string[]): boolean {
  return DEBUGGING_ROOTS.has(first) || first === 'runningpods' || (first === 'debug' && second === 'pprof');
}

/** Returns whether an endpoint is served even when debugging handlers are disabled. */
export function isAlwaysOn(endpoint: SecuredEndpoint): boolean {
  return ALWAYS_ON.has(endpoint);
}

/**
 * Returns the label `path` of the request metrics (`getMetricBucket`). Unknown paths share one label, so that clients
 * cannot create labels.
 */
export function metricBucket(segments: readonly string[] | undefined): string {
  const [first = '', second] = segments ?? [];
  const bucket = first === 'metrics' && second !== undefined ? `metrics/${second}` : first;
  return BUCKETS.has(bucket) ? bucket : 'other';
}

const BUCKETS: ReadonlySet<string> = new Set([
  ...ROUTES.map(({ pattern: [root = ''] }) => root),
  'metrics/probes',
  'metrics/cadvisor',
  'metrics/resource',
  'stats',
]);

/**
 * Values of the label `path` for which `long_running` is true: upstream's values, and the dashboard. Upstream's list
 * has `portforward` in lower case, which no path matches.
 */
const LONG_RUNNING: ReadonlySet<string> = new Set(['exec', 'attach', 'portforward', 'debug', 'dashboard']);

export function isLongRunning(bucket: string): boolean {
  return LONG_RUNNING.has(bucket);
}
