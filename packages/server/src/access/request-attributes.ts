/** The attributes of an access review: a verb and subresources of this node. */
export interface RequestAttributes {
  /** The Kubernetes verb of the HTTP method. Empty for methods without a verb. */
  readonly verb: string;
  /**
   * The subresources that permit the request, in the order in which they are reviewed. A user needs access to only one
   * of them.
   */
  readonly subresources: readonly string[];
}

const VERBS: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** Paths that are permitted either by `proxy` or by a finer-grained subresource (KEP-2862). */
const FINE_GRAINED: readonly (readonly [string, string])[] = [
  ['/pods', 'pods'],
  ['/healthz', 'healthz'],
  ['/configz', 'configz'],
  ['/runningpods/', 'pods'],
];
/** Paths that are permitted by a subresource other than `proxy`. Access to `proxy` does not permit these paths. */
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
