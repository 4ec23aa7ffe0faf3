import { LinkRule, pathNames } from '../link-rule.ts';
import { systemError } from '../system-error.ts';
import type { DirectoryNode, MemoryNode } from './nodes.ts';

/** As of the real one, which holds each directory on the way open. */
const MAX_HELD = 256;

/** How a walk takes what it meets. */
export interface MemoryWalkRules {
  readonly links: 'refuse' | 'within' | 'beneath';
  readonly crossMounts?: boolean;
  /** The directory's own path, without links. */
  readonly realDirectory: string;
  /** Makes a directory that is missing; `undefined` where none is to be made. */
  readonly make?: (parent: DirectoryNode, name: string) => MemoryNode;
  /** Whether something else is mounted at a name. */
  readonly isMountPoint: (parent: DirectoryNode, name: string) => boolean;
}

/** What a path names below a directory, as `FileSystem.openBeneath` and `holdBeneath` walk there. @param at the whole path, for errors */
export async function nodeBeneath(
  root: MemoryNode,
  path: string,
  rules: MemoryWalkRules,
  at: string,
): Promise<MemoryNode> {
  const fail = (code: string): Error => systemError(code, 'open', at);
  let stack: MemoryNode[] = [root];
  const links = new LinkRule(rules.links, async () => rules.realDirectory);
  const pending = pathNames(path, false);
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { name, ofLink } = next;
    if (name === '..') {
      const step = links.parent(stack.length === 1);
      if (step === 'out') throw fail('EXDEV');
      if (step === 'up') stack.pop();
      continue;
    }
    const parent = stack.at(-1);
    if (parent?.kind !== 'directory') throw fail('ENOTDIR');
    if (stack.length > MAX_HELD + 1) throw fail('ENAMETOOLONG');
    const node = parent.entries.get(name) ?? (ofLink ? undefined : rules.make?.(parent, name));
    if (node === undefined) throw fail('ENOENT');
    if (!rules.crossMounts && rules.isMountPoint(parent, name)) throw fail('EXDEV');
    if (node.kind !== 'symlink') {
      stack.push(node);
      continue;
    }
    const followed = await links.follow(node.target);
    if ('code' in followed) throw fail(followed.code);
    if (followed.fromRoot) stack = [root];
    pending.push(...followed.names);
  }
  return stack.at(-1) ?? root;
}
