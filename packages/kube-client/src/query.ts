/** How `resourceVersion` limits the age of the objects in a list or watch (`metav1.ListOptions`). */
export type ResourceVersionMatch = 'NotOlderThan' | 'Exact';

/** The options of a list request. */
export interface ListOptions {
  /** The namespace of the objects. Default: all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  /** A field selector, for example `spec.nodeName=a`; see {@link fieldSelector}. */
  readonly fieldSelector?: string | undefined;
  /**
   * The age of the data. An empty or absent value means the newest version, and `0` any version. Another value means
   * this version or newer, unless `resourceVersionMatch` is `Exact`.
   */
  readonly resourceVersion?: string | undefined;
  readonly resourceVersionMatch?: ResourceVersionMatch | undefined;
  /** The maximum number of objects in one response. The rest is read with `continue`. */
  readonly limit?: number | undefined;
  readonly continue?: string | undefined;
}

/** The options of a watch request. */
export interface WatchOptions extends Omit<ListOptions, 'limit' | 'continue'> {
  /** The server ends the watch after this many seconds. */
  readonly timeoutSeconds?: number | undefined;
  readonly allowWatchBookmarks?: boolean | undefined;
  /** Whether the watch starts with the existing objects, followed by a bookmark (KEP-3157). */
  readonly sendInitialEvents?: boolean | undefined;
}

/** Appends a query to a path. Parameters that are `undefined` or empty are left out. */
export function withQuery(
  path: string,
  parameters: Readonly<Record<string, string | number | boolean | undefined>>,
): string {
  // Created on demand, because most requests have no query.
  let query: URLSearchParams | undefined;
  for (const key in parameters) {
    const value = parameters[key];
    if (value === undefined || value === '') continue;
    query ??= new URLSearchParams();
    query.append(key, String(value));
  }
  return query === undefined ? path : `${path}?${query}`;
}

/**
 * Returns a field selector that requires each field to have its value. Commas, equals signs and backslashes in values
 * are escaped.
 */
export function fieldSelector(fields: Readonly<Record<string, string>>): string {
  return Object.entries(fields)
    .map(([field, value]) => `${field}=${value.replace(/[\\,=]/g, (special) => `\\${special}`)}`)
    .join(',');
}
