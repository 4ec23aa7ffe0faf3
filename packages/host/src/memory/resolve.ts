import { bytesOfText } from '../byte-names.ts';
import { systemError } from '../system-error.ts';
import type { DirectoryNode, MemoryNode } from './nodes.ts';

/** A resolved path: the directory that holds its last name, and the node of that name if it exists. */
export interface Resolved {
  readonly parent: DirectoryNode;
  /** Last name of the path; empty for the root. */
  readonly name: string;
  readonly node: MemoryNode | undefined;
  /** The path without symlinks, `.` and `..`. */
  readonly realPath: string;
  /** The directories from the root down to `parent`. */
  readonly ancestors: readonly DirectoryNode[];
}

const MAX_LINKS = 40;
const MAX_NAME_BYTES = 255;

/**
 * Resolves `path` as the kernel does. If `followLast` is false, a symlink at the end is not followed.
 * @throws ENOENT for a missing directory along the path, ENOTDIR, ELOOP after 40 symlinks, ENAMETOOLONG
 */
export function resolvePath(root: DirectoryNode, path: string, followLast: boolean, syscall: string): Resolved {
  if (path === '') throw systemError('ENOENT', syscall, path);
  const mustBeDirectory = endsAsDirectory(path);
  let names = path.split('/');
  let end = endOf(names);
  let next = 0;
  const way = new Way(root);
  let links = 0;
  while (next < end) {
    const name = names[next++] ?? '';
    if (name === '' || name === '.') continue;
    if (name === '..') {
      way.up();
      continue;
    }
    if (isTooLong(name)) throw systemError('ENAMETOOLONG', syscall, path);
    const parent = way.directory;
    const node = parent.entries.get(name);
    const isLast = next === end;
    if (node?.kind === 'symlink' && (!isLast || followLast || mustBeDirectory)) {
      if (++links > MAX_LINKS) throw systemError('ELOOP', syscall, path);
      if (node.target.startsWith('/')) way.toRoot();
      names = [...node.target.split('/'), ...names.slice(next)];
      end = endOf(names);
      next = 0;
      continue;
    }
    if (isLast) {
      if (mustBeDirectory && node !== undefined && node.kind !== 'directory') {
        throw systemError('ENOTDIR', syscall, path);
      }
      return new Place(way, name, node);
    }
    if (node === undefined) throw systemError('ENOENT', syscall, path);
    if (node.kind !== 'directory') throw systemError('ENOTDIR', syscall, path);
    way.down(name, node);
  }
  // The path ended in the root or in `..`: it refers to the directory reached so far.
  const { directory } = way;
  return new Place(way, way.up() ?? '', directory);
}

/** Returns the number of names up to the last one that is neither empty nor `.`. */
function endOf(names: readonly string[]): number {
  let end = names.length;
  while (end > 0 && (names[end - 1] === '' || names[end - 1] === '.')) end--;
  return end;
}

/** The directories from the root down to the current position of a walk. */
class Way {
  readonly directories: DirectoryNode[];
  /** Names of the directories, without the root. */
  readonly names: string[] = [];

  constructor(root: DirectoryNode) {
    this.directories = [root];
  }

  get directory(): DirectoryNode {
    return this.directories[this.names.length] as DirectoryNode;
  }

  down(name: string, directory: DirectoryNode): void {
    this.names.push(name);
    this.directories.push(directory);
  }

  /**
   * Goes up to the parent directory. @returns the name of the directory that was left; `undefined` at the root, which
   * has no parent
   */
  up(): string | undefined {
    if (this.names.length > 0) this.directories.pop();
    return this.names.pop();
  }

  toRoot(): void {
    this.names.length = 0;
    this.directories.length = 1;
  }
}

/** Returns whether a name exceeds the kernel's limit. */
export function isTooLong(name: string): boolean {
  // A UTF-16 unit takes at most three bytes.
  return name.length * 3 > MAX_NAME_BYTES && bytesOfText(name).length > MAX_NAME_BYTES;
}

/** A resolved path that computes its rarely needed properties on demand. */
class Place implements Resolved {
  readonly parent: DirectoryNode;
  readonly name: string;
  readonly node: MemoryNode | undefined;
  readonly #way: Way;

  constructor(way: Way, name: string, node: MemoryNode | undefined) {
    this.parent = way.directory;
    this.name = name;
    this.node = node;
    this.#way = way;
  }

  get realPath(): string {
    return this.name === '' ? '/' : `/${[...this.#way.names, this.name].join('/')}`;
  }

  get ancestors(): readonly DirectoryNode[] {
    return this.#way.directories;
  }
}

/** Returns whether a path ends in `/`, `/.` or `/..`. */
function endsAsDirectory(path: string): boolean {
  const end = path.endsWith('..') ? path.length - 2 : path.endsWith('.') ? path.length - 1 : path.length;
  return path[end - 1] === '/';
}
