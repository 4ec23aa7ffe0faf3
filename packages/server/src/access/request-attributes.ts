/** What a request is about, as the API server is asked whether somebody may: a verb, and a subresource of this node. */
export interface RequestAttributes {
  /** Empty for methods that have none. */
  readonly verb: string;
  /** The right to any of them is enough; asked for in this order. */
  readonly subresources: readonly string[];
}

const VERBS: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** Rights to a part of what `proxy` gives (KEP-2862). */
const FINE_GRAINED: readonly (readonly [string, string])[] = [
  ['/pods', 'pods'],
  ['/healthz', 'healthz'],
  ['/configz', 'configz'],
  ['/runningpods/', 'pods'],
];
/** Rights that `proxy` does not give. */
const OF_THEIR_OWN: readonly (readonly [string, string])[] = [
  ['/stats/', 'stats'],
  ['/metrics', 'metrics'],
  ['/logs/', 'log'],
  ['/checkpoint/', 'checkpoint'],
  ['/statusz', 'statusz'],
  ['/flagz', 'configz'],
];

/**
 * Which right a request takes (`GetRequestAttributes`, `pkg/kubelet/server/auth.go`). What is none of the known paths takes
 * `proxy`, the right to everything.
 * @param path decoded, without the query
 */
export function requestAttributes(path: string, method: string): RequestAttributes {
  const fine = FINE_GRAINED.find(([root]) => isSubpath(path, root))?.[1];
  const own = OF_THEIR_OWN.find(([root]) => isSubpath(path, root))?.[1] ?? 'proxy';
  const verb = Object.hasOwn(VERBS, method) ? (VERBS[method] ?? '') : '';
  return { verb, subresources: fine === undefined ? [own] : [fine, own] };
}

/** Whether a path is `root`, which may end in a slash, or below it. */
export function isSubpath(path: string, root: string): boolean {
  const base = root.endsWith('/') ? root.slice(0, -1) : root;
  return path === base || path.startsWith(`${base}/`);
}
