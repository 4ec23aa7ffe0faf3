/** The attributes of an access review: a verb and subresources of this node. */
export interface RequestAttributes {
  /** Empty for methods without a verb. */
  readonly verb: string;
  /** Access to one of them is enough. They are reviewed in this order. */
  readonly subresources: readonly string[];
}

const VERBS: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** Paths with a finer-grained subresource, which is an alternative to `proxy` (KEP-2862). */
const FINE_GRAINED: readonly (readonly [string, string])[] = [
  ['/pods', 'pods'],
  ['/healthz', 'healthz'],
  ['/configz', 'configz'],
  ['/runningpods/', 'pods'],
];
/** Paths with a subresource of their own, which `proxy` does not include. */
const OF_THEIR_OWN: readonly (readonly [string, string])[] = [
  ['/stats/', 'stats'],
  ['/metrics', 'metrics'],
  ['/logs/', 'log'],
  ['/checkpoint/', 'checkpoint'],
  ['/statusz', 'statusz'],
  ['/flagz', 'configz'],
];

/**
 * Returns the access that a request needs (`GetRequestAttributes`, `pkg/kubelet/server/auth.go`). Unknown paths need
 * `proxy`.
 * @param path the decoded path, without the query
 */
export function requestAttributes(path: string, method: string): RequestAttributes {
  const fine = FINE_GRAINED.find(([root]) => isSubpath(path, root))?.[1];
  const own = OF_THEIR_OWN.find(([root]) => isSubpath(path, root))?.[1] ?? 'proxy';
  const verb = Object.hasOwn(VERBS, method) ? (VERBS[method] ?? '') : '';
  return { verb, subresources: fine === undefined ? [own] : [fine, own] };
}

/** Returns whether a path equals `root` (with or without its trailing slash) or is below it. */
export function isSubpath(path: string, root: string): boolean {
  const base = root.endsWith('/') ? root.slice(0, -1) : root;
  return path === base || path.startsWith(`${base}/`);
}
