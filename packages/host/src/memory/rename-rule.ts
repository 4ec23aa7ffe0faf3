import type { Resolved } from './resolve.ts';
import type { Found } from './tree.ts';

/** Returns the error code of a rename that the kernel would reject; `undefined` if the kernel would accept it. */
export function whyNotRename(source: Found, target: Resolved, isMountPoint: boolean): string | undefined {
  if (source.name === '' || target.name === '' || isMountPoint) return 'EBUSY';
  if (source.parent.device !== target.parent.device) return 'EXDEV';
  if (source.node === target.node) return undefined;
  if (source.node.kind !== 'directory') return target.node?.kind === 'directory' ? 'EISDIR' : undefined;
  if (target.ancestors.includes(source.node)) return 'EINVAL';
  if (target.node === undefined) return undefined;
  if (target.node.kind !== 'directory') return 'ENOTDIR';
  return target.node.entries.size > 0 ? 'ENOTEMPTY' : undefined;
}
