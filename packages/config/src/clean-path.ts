import { posix } from 'node:path';

/** Implements Go's `filepath.Clean`: Node's `normalize` without a trailing slash. */
export function cleanPath(path: string): string {
  const normalized = posix.normalize(path);
  return normalized.length > 1 && normalized.endsWith('/') ? normalized.slice(0, -1) : normalized;
}
