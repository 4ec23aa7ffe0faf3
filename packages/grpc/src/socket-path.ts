/** `sun_path` of a Linux socket address has 108 bytes, the last of them 0. */
const MAX_SOCKET_PATH_BYTES = 107;

/** What is wrong with the path of a socket; `undefined` where nothing is. */
export function socketPathProblem(path: string): string | undefined {
  if (!path.startsWith('/')) return `${path}: a socket's path is absolute`;
  const bytes = Buffer.byteLength(path);
  if (bytes <= MAX_SOCKET_PATH_BYTES) return undefined;
  return `${path}: a socket's path has at most ${MAX_SOCKET_PATH_BYTES} bytes, this one has ${bytes}`;
}
