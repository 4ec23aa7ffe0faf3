/** The parsed target of a request. The target is parsed once, so that authorization and routing use the same path. */
export interface RequestPath {
  /** The path with percent escapes decoded once, as authorization uses it. If decoding fails, the path as received. */
  readonly path: string;
  /**
   * The decoded segments between slashes, without the empty segment after a trailing slash. `undefined` if the path
   * must not be served.
   */
  readonly segments: readonly string[] | undefined;
  readonly query: URLSearchParams;
}

const ABSOLUTE_FORM = /^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i;

/**
 * Parses a request's target. A path that cleaning would change (`..`, `.`, doubled slashes, an encoded slash or NUL)
 * gets no `segments` and is not served (W3). The same holds for an invalid path.
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
 * Splits a request's target into path and query. A target in absolute form (`https://node:10250/pods`), which every
 * server must accept (RFC 9112, 3.2.2), loses its scheme and authority. An empty path becomes the root.
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
