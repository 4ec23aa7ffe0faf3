import type { HeldPlace } from '../file-system.ts';
import { type MemoryNode, statOfNode } from './nodes.ts';

/** Nodes of a memory file system that are held, independent of their current names. */
export class HeldNodes {
  readonly #nodes = new Map<string, MemoryNode>();
  #lastHandle = 0;

  get size(): number {
    return this.#nodes.size;
  }

  /** Returns the node of a handle; `undefined` once the handle is closed. */
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
