import { bytesOfText } from '../byte-names.ts';
import { systemError } from '../system-error.ts';
import type { DirectoryNode, MemoryNode } from './nodes.ts';

/** Where a path leads: the directory that holds its last name, and the node of that name if there is one. */
export interface Resolved {
  readonly parent: DirectoryNode;
  /** The last name; '' for the root. */
  readonly name: string;
  readonly node: MemoryNode | undefined;
  /** The path without links, `.` and `..`. */
  readonly realPath: string;
  /** The directories from the root down to `parent`. */
  readonly ancestors: readonly DirectoryNode[];
}

const MAX_LINKS = 40;
const MAX_NAME_BYTES = 255;

interface Step {
  readonly name: string;
  readonly directory: DirectoryNode;
}

/**
 * Walks `path` as the kernel does; where `followLast` is false, a link at its end is not followed.
 * @throws ENOENT for a missing directory on the way, ENOTDIR, ELOOP after 40 links, ENAMETOOLONG
 */
export function resolvePath(root: DirectoryNode, path: string, followLast: boolean, syscall: string): Resolved {
  const fail = (code: string): Error => systemError(code, syscall, path);
  if (path === '') throw fail('ENOENT');
  const pending = split(path).reverse();
  const mustBeDirectory = endsAsDirectory(path);
  let stack: Step[] = [];
  let links = 0;
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    const parent = stack.at(-1)?.directory ?? root;
    if (name === '.') continue;
    if (name === '..') {
      stack.pop();
      continue;
    }
    // No unit of a text takes more than three bytes.
    if (name.length * 3 > MAX_NAME_BYTES && bytesOfText(name).length > MAX_NAME_BYTES) throw fail('ENAMETOOLONG');
    const node = parent.entries.get(name);
    const isLast = pending.length === 0 || pending.every((rest) => rest === '.');
    if (node?.kind === 'symlink' && (!isLast || followLast || mustBeDirectory)) {
      if (++links > MAX_LINKS) throw fail('ELOOP');
      if (node.target.startsWith('/')) stack = [];
      pending.push(...split(node.target).reverse());
      continue;
    }
    if (isLast) {
      if (mustBeDirectory && node !== undefined && node.kind !== 'directory') throw fail('ENOTDIR');
      return resolved(root, parent, name, node, stack);
    }
    if (node === undefined) throw fail('ENOENT');
    if (node.kind !== 'directory') throw fail('ENOTDIR');
    stack.push({ name, directory: node });
  }
  // The path ended in the root, or in `..`: the directory on top of the stack is what it names.
  const last = stack.pop();
  const parent = stack.at(-1)?.directory ?? root;
  return resolved(root, parent, last?.name ?? '', last?.directory ?? root, stack);
}

/** What few ask for is put together when they do. */
function resolved(
  root: DirectoryNode,
  parent: DirectoryNode,
  name: string,
  node: MemoryNode | undefined,
  stack: readonly Step[],
): Resolved {
  return {
    parent,
    name,
    node,
    get realPath() {
      return name === '' ? '/' : join(stack, name);
    },
    get ancestors() {
      return [root, ...stack.map((step) => step.directory)];
    },
  };
}

/** Whether a path ends in `/`, `/.` or `/..`. */
function endsAsDirectory(path: string): boolean {
  const end = path.endsWith('..') ? path.length - 2 : path.endsWith('.') ? path.length - 1 : path.length;
  return path[end - 1] === '/';
}

function split(path: string): string[] {
  return path.split('/').filter((name) => name !== '');
}

function join(stack: readonly Step[], name: string): string {
  return `/${[...stack.map((step) => step.name), name].join('/')}`;
}
