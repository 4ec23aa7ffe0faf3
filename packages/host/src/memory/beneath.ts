import type { BeneathOptions } from '../file-system.ts';
import { systemError } from '../system-error.ts';
import type { MemoryNode } from './nodes.ts';
import { MAX_LINKS } from './resolve.ts';

/** As of the real one, which holds each directory on the way open. */
const MAX_HELD = 256;

/** What a path names below a directory, as `FileSystem.openBeneath` walks there. @param at the whole path, for errors */
export function nodeBeneath(
  root: MemoryNode,
  path: string,
  onLink: NonNullable<BeneathOptions['links']>,
  at: string,
): MemoryNode {
  const fail = (code: string): Error => systemError(code, 'open', at);
  let stack: MemoryNode[] = [root];
  let links = 0;
  const pending = namesOf(path);
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (name === '..') {
      if (onLink === 'refuse') throw fail('EXDEV');
      if (stack.length > 1) stack.pop();
      continue;
    }
    const parent = stack.at(-1);
    if (parent?.kind !== 'directory') throw fail('ENOTDIR');
    if (stack.length > MAX_HELD + 1) throw fail('ENAMETOOLONG');
    const node = parent.entries.get(name);
    if (node === undefined) throw fail('ENOENT');
    if (node.device !== root.device) throw fail('EXDEV');
    if (node.kind !== 'symlink') {
      stack.push(node);
      continue;
    }
    if (onLink === 'refuse' || ++links > MAX_LINKS) throw fail('ELOOP');
    if (node.target.startsWith('/')) stack = [root];
    pending.push(...namesOf(node.target));
  }
  return stack.at(-1) ?? root;
}

function namesOf(path: string): string[] {
  return path
    .split('/')
    .filter((name) => name !== '' && name !== '.')
    .reverse();
}
