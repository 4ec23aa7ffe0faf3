import type { MemoryBlock } from './memory-state.ts';

/**
 * Memory that init containers of one pod leave to the containers after them, by NUMA nodes and resource
 * (`initContainersReusableMemory`, `pkg/kubelet/cm/memorymanager/policy_static.go`). An instance is used during one
 * admission.
 */
export class MemoryReuse {
  readonly #bytes = new Map<string, number>();

  /** Returns the bytes that a container can reuse if its memory comes from exactly these NUMA nodes. */
  of(nodes: readonly number[], resource: string): number {
    return this.#bytes.get(key(nodes, resource)) ?? 0;
  }

  /**
   * Records the memory of a container, in the order of the pod's containers. @param finishes whether the container is
   * an init container, which leaves its memory to later containers
   */
  allocated(blocks: readonly MemoryBlock[], finishes: boolean): void {
    for (const { nodes, resource, bytes } of blocks) {
      const before = this.of(nodes, resource);
      const after = finishes ? Math.max(before, bytes) : Math.max(0, before - bytes);
      this.#bytes.set(key(nodes, resource), after);
    }
  }
}

function key(nodes: readonly number[], resource: string): string {
  return `${[...nodes].sort((a, b) => a - b).join()} ${resource}`;
}
