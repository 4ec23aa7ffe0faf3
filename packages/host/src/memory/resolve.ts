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
  if (path === '') throw systemError('ENOENT', syscall, path);
  const mustBeDirectory = endsAsDirectory(path);
  let names = split(path);
  let next = 0;
  let stack: Step[] = [];
  let parent = root;
  let links = 0;
  while (next < names.length) {
    const name = names[next++] ?? '';
    if (name === '.') continue;
    if (name === '..') {
      stack.pop();
      parent = stack.at(-1)?.directory ?? root;
      continue;
    }
    if (isTooLong(name)) throw systemError('ENAMETOOLONG', syscall, path);
    const node = parent.entries.get(name);
    const isLast = next === names.length || names.every((rest, index) => index < next || rest === '.');
    if (node?.kind === 'symlink' && (!isLast || followLast || mustBeDirectory)) {
      if (++links > MAX_LINKS) throw systemError('ELOOP', syscall, path);
      if (node.target.startsWith('/')) stack = [];
      parent = stack.at(-1)?.directory ?? root;
      names = [...split(node.target), ...names.slice(next)];
      next = 0;
      continue;
    }
    if (isLast) {
      if (mustBeDirectory && node !== undefined && node.kind !== 'directory') {
        throw systemError('ENOTDIR', syscall, path);
      }
      return new Place(root, parent, name, node, stack);
    }
    if (node === undefined) throw systemError('ENOENT', syscall, path);
    if (node.kind !== 'directory') throw systemError('ENOTDIR', syscall, path);
    stack.push({ name, directory: node });
    parent = node;
  }
  // The path ended in the root, or in `..`: the directory on top of the stack is what it names.
  const last = stack.pop();
  return new Place(root, stack.at(-1)?.directory ?? root, last?.name ?? '', last?.directory ?? root, stack);
}

/** Whether a name is longer than the kernel lets it be. */
export function isTooLong(name: string): boolean {
  // No unit of a text takes more than three bytes.
  return name.length * 3 > MAX_NAME_BYTES && bytesOfText(name).length > MAX_NAME_BYTES;
}

/** What few ask for is put together when they do. */
class Place implements Resolved {
  readonly parent: DirectoryNode;
  readonly name: string;
  readonly node: MemoryNode | undefined;
  readonly #root: DirectoryNode;
  readonly #stack: readonly Step[];

  constructor(
    root: DirectoryNode,
    parent: DirectoryNode,
    name: string,
    node: MemoryNode | undefined,
    stack: readonly Step[],
  ) {
    this.parent = parent;
    this.name = name;
    this.node = node;
    this.#root = root;
    this.#stack = stack;
  }

  get realPath(): string {
    return this.name === '' ? '/' : join(this.#stack, this.name);
  }

  get ancestors(): readonly DirectoryNode[] {
    return [this.#root, ...this.#stack.map((step) => step.directory)];
  }
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
