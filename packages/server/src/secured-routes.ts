/** What the secured server may serve. */
export type SecuredEndpoint =
  | 'attach'
  | 'cadvisorMetrics'
  | 'checkpoint'
  | 'configz'
  | 'containerLogs'
  | 'exec'
  | 'explain'
  | 'flagz'
  | 'healthz'
  | 'logs'
  | 'metrics'
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
  /** `:name` stands for one segment, `*` at the end for any number of them. */
  readonly pattern: readonly string[];
}

const READ = ['GET', 'HEAD'];
const STREAM = ['GET', 'POST'];
/** Those that a handler of upstream's is given, and refuses itself. */
const ANY = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'];
const CONTAINER = ':namespace/:pod/:container';
const CONTAINER_OF_UID = ':namespace/:pod/:uid/:container';

/** Paths and methods as upstream's `InstallAuthNotRequiredHandlers` and `InstallAuthRequiredHandlers`, and `explain`. */
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
    ['explain', READ, 'debug/explain'],
    ['explain', READ, 'debug/explain/:namespace/:pod'],
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

/** Where a request leads. */
export type SecuredRoute =
  | { readonly endpoint: SecuredEndpoint; readonly params: RouteParams }
  | { readonly endpoint?: undefined; readonly status: 404 }
  | { readonly endpoint?: undefined; readonly status: 405; readonly allow: readonly string[] };

/** What a path says; empty where it does not. */
export interface RouteParams {
  readonly namespace: string;
  readonly pod: string;
  readonly uid: string;
  readonly container: string;
  readonly check: string;
  /** What `*` stands for. */
  readonly rest: readonly string[];
}

/** Finds the endpoint of a method and a path that is taken apart, among those that are there. */
export function securedRoute(
  method: string,
  segments: readonly string[],
  isThere: (endpoint: SecuredEndpoint) => boolean,
): SecuredRoute {
  const allow: string[] = [];
  for (const { endpoint, methods, pattern } of ROUTES) {
    const params = isThere(endpoint) ? match(pattern, segments) : undefined;
    if (params === undefined) continue;
    if (methods.includes(method)) return { endpoint, params };
    allow.push(...methods);
  }
  return allow.length === 0 ? { status: 404 } : { status: 405, allow };
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

/** What is off where the configuration's `enableDebuggingHandlers` is: upstream answers 405 below these, and knows no other. */
const DEBUGGING_ROOTS: ReadonlySet<string> = new Set(['run', 'exec', 'attach', 'portForward', 'containerLogs', 'logs']);
const ALWAYS_ON: ReadonlySet<SecuredEndpoint> = new Set([
  ...(['healthz', 'pods', 'stats', 'metrics', 'probeMetrics', 'cadvisorMetrics', 'resourceMetrics', 'slis'] as const),
]);

/** Whether a path is one of those that are answered by 405 where debugging handlers are off. */
export function isDebuggingPath([first = '', second = '']: readonly string[]): boolean {
  return DEBUGGING_ROOTS.has(first) || first === 'runningpods' || (first === 'debug' && second === 'pprof');
}

/** Whether an endpoint is there without debugging handlers. */
export function isAlwaysOn(endpoint: SecuredEndpoint): boolean {
  return ALWAYS_ON.has(endpoint);
}

/** The label `path` of the metrics of requests (`getMetricBucket`), so that no caller makes labels up. */
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

/** Those that the label `long_running` is true for; upstream's list has `portforward`, which no path is. */
const LONG_RUNNING: ReadonlySet<string> = new Set(['exec', 'attach', 'portforward', 'debug']);

export function isLongRunning(bucket: string): boolean {
  return LONG_RUNNING.has(bucket);
}
