import { MAX_LINKS, pathNames } from '../link-rule.ts';
import { systemError } from '../system-error.ts';
import { isKernelServed } from './kernel-served.ts';
import type { MountTable } from './mount-table.ts';

/**
 * Resolves a path link by link as long as every step is in a file system that the kernel serves from memory.
 * @param readLink returns the target of a symlink; `undefined` if the path is not a symlink
 * @returns a path without symlinks; `undefined` if the path leads to another file system
 * @throws ELOOP
 * @throws the errors of `readLink`
 */
export async function kernelPath(
  path: string,
  mounts: Pick<MountTable, 'of'>,
  readLink: (path: string) => Promise<string | undefined>,
): Promise<string | undefined> {
  const isServed = (place: string): boolean => isKernelServed(mounts.of(place)?.type);
  if (!path.startsWith('/') || !isServed('/')) return undefined;
  const pending = pathNames(path, false);
  let at: readonly string[] = [];
  let links = 0;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (next.name === '..') {
      at = at.slice(0, -1);
      continue;
    }
    const names = [...at, next.name];
    const place = `/${names.join('/')}`;
    if (!isServed(place)) return undefined;
    const target = await readLink(place);
    if (target === undefined) {
      at = names;
      continue;
    }
    if (++links > MAX_LINKS) throw systemError('ELOOP', 'readlink', path);
    if (target.startsWith('/')) at = [];
    pending.push(...pathNames(target, true));
  }
  return `/${at.join('/')}`;
}
