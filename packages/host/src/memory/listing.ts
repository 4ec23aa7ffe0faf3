import type { DirectoryNode, MemoryNode } from './nodes.ts';

/** Returns every path below the root that `isWanted` accepts, sorted. */
export function pathsBelow(
  root: DirectoryNode,
  isWanted: (parent: DirectoryNode, name: string) => boolean = () => true,
): string[] {
  const found: string[] = [];
  const visit = (node: MemoryNode, path: string): void => {
    if (node.kind !== 'directory') return;
    for (const [name, child] of node.entries) {
      const at = `${path}/${name}`;
      if (isWanted(node, name)) found.push(at);
      visit(child, at);
    }
  };
  visit(root, '');
  return found.sort();
}

/**
 * Returns the names in the directory at a path, sorted; an empty list if the path is not a directory. Symlinks are not
 * followed.
 */
export function namesAt(root: DirectoryNode, path: string): string[] {
  let node: MemoryNode | undefined = root;
  for (const name of path.split('/')) {
    if (name !== '') node = node?.kind === 'directory' ? node.entries.get(name) : undefined;
  }
  return node?.kind === 'directory' ? [...node.entries.keys()].sort() : [];
}
