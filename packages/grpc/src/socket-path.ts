/**
 * Maximum length of a socket path in bytes. `sun_path` of a Linux socket address has 108 bytes including the
 * terminating 0.
 */
const MAX_SOCKET_PATH_BYTES = 107;

/** Returns why a path cannot be the path of a unix socket, or `undefined` if it can. */
export function socketPathProblem(path: string): string | undefined {
  if (!path.startsWith('/')) return `${path}: the path of a socket must be absolute`;
  const bytes = Buffer.byteLength(path);
  if (bytes <= MAX_SOCKET_PATH_BYTES) return undefined;
  return `${path}: the path of a socket must have at most ${MAX_SOCKET_PATH_BYTES} bytes, not ${bytes}`;
}
