import { MAX_LINKS, pathNames } from '../link-rule.ts';
import { systemError } from '../system-error.ts';
import { isKernelServed } from './kernel-served.ts';
import type { MountTable } from './mount-table.ts';

/**
 * Where a path leads, link by link, as long as all of the way is in file systems that the kernel serves by itself.
 * @param readLink the target of a link; `undefined` for what is no link
 * @returns a path without links; `undefined` where the way leads elsewhere
 * @throws ELOOP; what `readLink` throws
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
