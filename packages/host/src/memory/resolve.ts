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

/**
 * Walks `path` as the kernel does; where `followLast` is false, a link at its end is not followed.
 * @throws ENOENT for a missing directory on the way, ENOTDIR, ELOOP after 40 links, ENAMETOOLONG
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
  // The path ended in the root, or in `..`: what it names is the directory where the way has ended.
  const { directory } = way;
  return new Place(way, way.up() ?? '', directory);
}

/** How many names there are up to the last one that leads anywhere: `.` does not, nor does an empty one. */
function endOf(names: readonly string[]): number {
  let end = names.length;
  while (end > 0 && (names[end - 1] === '' || names[end - 1] === '.')) end--;
  return end;
}

/** The directories from the root down to where a walk is. */
class Way {
  readonly directories: DirectoryNode[];
  /** Their names, without the root. */
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

  /** @returns the name of the directory that it left; `undefined` in the root, which is left for nothing */
  up(): string | undefined {
    if (this.names.length > 0) this.directories.pop();
    return this.names.pop();
  }

  toRoot(): void {
    this.names.length = 0;
    this.directories.length = 1;
  }
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

/** Whether a path ends in `/`, `/.` or `/..`. */
function endsAsDirectory(path: string): boolean {
  const end = path.endsWith('..') ? path.length - 2 : path.endsWith('.') ? path.length - 1 : path.length;
  return path[end - 1] === '/';
}
