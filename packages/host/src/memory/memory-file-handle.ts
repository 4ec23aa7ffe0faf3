import type { FileHandle, FileStat } from '../file-system.ts';
import { systemError } from '../system-error.ts';
import type { FileOperation } from './faults.ts';
import { contentOf, type FileNode, type MemoryNode, statOfNode, syncFile, syncNames } from './nodes.ts';
import type { Resolved } from './resolve.ts';

/** The directory and name of an open file. */
export type OpenPlace = Pick<Resolved, 'parent' | 'name' | 'realPath'>;

/** Operations of the file system that its open files use. */
export interface FileAccess {
  /** @throws an injected fault */
  check(operation: FileOperation, path: string): void;
  append(at: OpenPlace, file: FileNode, data: Uint8Array): void;
}

/**
 * An open file of a memory file system. The handle keeps working after the file's name was removed or given to another
 * file. A simulated fleet of nodes has thousands of open logs, so a handle holds as little data as possible.
 */
export class MemoryFileHandle implements FileHandle {
  readonly #access: FileAccess;
  readonly #path: string;
  /** Directory and name of a file that was opened for appending; otherwise absent. */
  readonly #appendAt: OpenPlace | undefined;
  #node: MemoryNode | undefined;

  constructor(access: FileAccess, path: string, node: MemoryNode, appendAt?: OpenPlace) {
    this.#access = access;
    this.#path = path;
    this.#node = node;
    this.#appendAt = appendAt;
  }

  async read(position: number, length: number): Promise<Uint8Array> {
    const node = this.#open('read');
    this.#access.check('read', this.#path);
    return contentOf(asFile(node, this.#path, 'read')).slice(position, position + length);
  }

  async append(data: Uint8Array): Promise<void> {
    const node = this.#open('write');
    this.#access.check('append', this.#path);
    if (this.#appendAt === undefined) throw systemError('EBADF', 'write', this.#path);
    this.#access.append(this.#appendAt, asFile(node, this.#path, 'write'), data);
  }

  async stat(): Promise<FileStat> {
    return statOfNode(this.#open('fstat'));
  }

  async sync(): Promise<void> {
    const node = this.#open('fsync');
    if (node.kind === 'directory') {
      this.#access.check('syncDirectory', this.#path);
      syncNames(node);
    } else if (node.kind === 'file') {
      this.#access.check('sync', this.#path);
      syncFile(node);
    }
  }

  async close(): Promise<void> {
    this.#node = undefined;
  }

  #open(syscall: string): MemoryNode {
    if (this.#node === undefined) throw systemError('EBADF', syscall, this.#path);
    return this.#node;
  }
}

/** @throws EISDIR for a directory, ENXIO for a socket, FIFO or device */
export function asFile(node: MemoryNode, path: string, syscall: string): FileNode {
  if (node.kind === 'file') return node;
  throw systemError(node.kind === 'directory' ? 'EISDIR' : 'ENXIO', syscall, path);
}
