/** How old the objects of a list or watch may be (`metav1.ListOptions`). */
export type ResourceVersionMatch = 'NotOlderThan' | 'Exact';

/** What a list asks for. */
export interface ListOptions {
  /** All namespaces where absent. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  /** For example `spec.nodeName=a`; see {@link fieldSelector}. */
  readonly fieldSelector?: string | undefined;
  /** Empty or absent: the newest; `0`: any; otherwise no older than this one, or as `resourceVersionMatch` says. */
  readonly resourceVersion?: string | undefined;
  readonly resourceVersionMatch?: ResourceVersionMatch | undefined;
  /** At most this many objects in one answer; the rest is had with `continue`. */
  readonly limit?: number | undefined;
  readonly continue?: string | undefined;
}

/** What a watch asks for. */
export interface WatchOptions extends Omit<ListOptions, 'limit' | 'continue'> {
  /** The server ends the watch after so many seconds. */
  readonly timeoutSeconds?: number | undefined;
  readonly allowWatchBookmarks?: boolean | undefined;
  /** The watch begins with the objects that are there and a bookmark that ends them (KEP-3157). */
  readonly sendInitialEvents?: boolean | undefined;
}

/** A path with its query; what is `undefined` or empty is left out. */
export function withQuery(
  path: string,
  parameters: Readonly<Record<string, string | number | boolean | undefined>>,
): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== '') query.append(key, String(value));
  }
  const text = query.toString();
  return text === '' ? path : `${path}?${text}`;
}

/** A field selector in which every field has its value; commas, equals signs and backslashes in values are escaped. */
export function fieldSelector(fields: Readonly<Record<string, string>>): string {
  return Object.entries(fields)
    .map(([field, value]) => `${field}=${value.replace(/[\\,=]/g, (special) => `\\${special}`)}`)
    .join(',');
}
