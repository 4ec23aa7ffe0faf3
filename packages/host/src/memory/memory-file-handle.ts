import type { FileHandle, FileStat } from '../file-system.ts';
import { systemError } from '../system-error.ts';

/** Operations of an open file on its node, independent of the node's current name. */
export interface OpenNode {
  stat(): FileStat;
  read(): Uint8Array;
  append(data: Uint8Array): void;
  sync(): void;
}

/** An open file of a memory file system. It keeps working after its name was removed or given to another file. */
export class MemoryFileHandle implements FileHandle {
  readonly #path: string;
  #node: OpenNode | undefined;

  constructor(path: string, node: OpenNode) {
    this.#path = path;
    this.#node = node;
  }

  async read(position: number, length: number): Promise<Uint8Array> {
    return this.#open('read')
      .read()
      .slice(position, position + length);
  }

  async append(data: Uint8Array): Promise<void> {
    this.#open('write').append(data);
  }

  async stat(): Promise<FileStat> {
    return this.#open('fstat').stat();
  }

  async sync(): Promise<void> {
    this.#open('fsync').sync();
  }

  async close(): Promise<void> {
    this.#node = undefined;
  }

  #open(syscall: string): OpenNode {
    if (this.#node === undefined) throw systemError('EBADF', syscall, this.#path);
    return this.#node;
  }
}
