/** The target of a request, taken apart once for all who look at it: authorisation and routing see the same. */
export interface RequestPath {
  /** Decoded once, as authorisation sees it; as it came where it cannot be decoded. */
  readonly path: string;
  /** What is between the slashes, decoded; without an empty last one. `undefined` where the path is not to be walked. */
  readonly segments: readonly string[] | undefined;
  readonly query: URLSearchParams;
}

const ABSOLUTE_FORM = /^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i;

/**
 * Takes a request's target apart. A path that would be another one after cleaning up (`..`, `.`, doubled slashes, a slash or
 * a NUL that is encoded), or that is none, has no segments: nothing is served under it, whatever it may mean (W3).
 */
export function parseRequestPath(target: string): RequestPath {
  const { path: raw, query } = splitTarget(target);
  let segments: string[];
  try {
    segments = raw.split('/').map(decodeURIComponent);
  } catch {
    return { path: raw, segments: undefined, query };
  }
  const path = segments.join('/');
  if (!raw.startsWith('/')) return { path, segments: undefined, query };
  segments.shift();
  if (segments.at(-1) === '') segments.pop();
  return { path, segments: segments.every(isPlain) ? segments : undefined, query };
}

/**
 * Splits a request's target into its path and its query. A target in absolute form (`https://node:10250/pods`), which every
 * server must accept (RFC 9112, 3.2.2), loses its scheme and authority; an empty path is the root.
 */
export function splitTarget(target: string): { readonly path: string; readonly query: URLSearchParams } {
  const absolute = ABSOLUTE_FORM.exec(target);
  const origin = absolute === null ? target : target.slice(absolute[0].length);
  const queryAt = origin.indexOf('?');
  const path = queryAt < 0 ? origin : origin.slice(0, queryAt);
  const query = new URLSearchParams(queryAt < 0 ? '' : origin.slice(queryAt + 1));
  return { path: absolute !== null && path === '' ? '/' : path, query };
}

function isPlain(segment: string): boolean {
  return segment !== '' && segment !== '.' && segment !== '..' && !segment.includes('/') && !segment.includes('\0');
}
