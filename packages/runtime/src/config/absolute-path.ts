/** Returns an absolute path inside a container; a relative path is taken from the root, as runtimes do. */
export function absolutePath(path: string): string {
  return path.startsWith('/') ? path : `/${path}`;
}
