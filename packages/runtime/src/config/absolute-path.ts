/** A path inside a container as runtimes have it: what does not begin with a slash is taken from the root. */
export function absolutePath(path: string): string {
  return path.startsWith('/') ? path : `/${path}`;
}
