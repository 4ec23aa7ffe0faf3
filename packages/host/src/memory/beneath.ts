import { LinkRule, pathNames } from '../link-rule.ts';
import { systemError } from '../system-error.ts';
import type { DirectoryNode, MemoryNode } from './nodes.ts';

/**
 * Maximum depth of a path, as on the real file system, where `openBeneath` holds each directory along the path open.
 */
const MAX_HELD = 256;

/** Rules of a walk beneath a directory. */
export interface MemoryWalkRules {
  readonly links: 'refuse' | 'within' | 'beneath';
  readonly crossMounts?: boolean;
  /** Path of the directory without symlinks. */
  readonly realDirectory: string;
  /** Creates a missing directory. If absent, a missing directory fails with ENOENT. */
  readonly make?: (parent: DirectoryNode, name: string) => MemoryNode;
  /** Returns whether a name is a mount point. */
  readonly isMountPoint: (parent: DirectoryNode, name: string) => boolean;
}

/**
 * Resolves a path below a directory with the rules of `FileSystem.openBeneath` and `holdBeneath`. @param at complete
 * path, for error messages
 */
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
