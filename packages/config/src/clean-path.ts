import { posix } from 'node:path';

/** Go's `filepath.Clean`: as Node's, without a slash at the end. */
export function cleanPath(path: string): string {
  const normalized = posix.normalize(path);
  return normalized.length > 1 && normalized.endsWith('/') ? normalized.slice(0, -1) : normalized;
}
