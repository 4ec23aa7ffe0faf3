import type { HeldPlace } from '../file-system.ts';
import { type MemoryNode, statOfNode } from './nodes.ts';

/** What is held of a memory file system, whatever has its name by now. */
export class HeldNodes {
  readonly #nodes = new Map<string, MemoryNode>();
  #lastHandle = 0;

  get size(): number {
    return this.#nodes.size;
  }

  /** What a handle leads to; `undefined` once it is closed. */
  get(handle: string): MemoryNode | undefined {
    return this.#nodes.get(handle);
  }

  hold(node: MemoryNode): HeldPlace {
    const handle = `/proc/1/fd/${++this.#lastHandle}`;
    this.#nodes.set(handle, node);
    const close = async (): Promise<void> => void this.#nodes.delete(handle);
    return { handle, stat: statOfNode(node), close };
  }
}
