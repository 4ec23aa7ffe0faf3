/** Amounts of one resource (`memory`, `hugepages-2Mi`) on a NUMA node, in bytes. */
export interface MemoryTable {
  readonly total: number;
  readonly systemReserved: number;
  /** Amount that containers can get: the total minus `systemReserved` and, for `memory`, minus huge pages. */
  readonly allocatable: number;
  /** Amount that is allocated to containers. */
  readonly reserved: number;
  readonly free: number;
}

/** Memory of a NUMA node, and how containers use it. */
export interface MemoryNode {
  /** Number of containers' memory blocks that include this node. */
  readonly assignments: number;
  /** Amounts by resource. */
  readonly tables: ReadonlyMap<string, MemoryTable>;
  /**
   * Ids of the nodes in this node's group, including the node itself. Containers use the nodes of a group together; a
   * node is in only one group at a time.
   */
  readonly cells: readonly number[];
}

/** Memory of one resource that a container has. The memory may come from any of the block's NUMA nodes. */
export interface MemoryBlock {
  /** NUMA node ids, sorted ascending. */
  readonly nodes: readonly number[];
  /** Name of the resource: `memory` or `hugepages-<size>`. */
  readonly resource: string;
  readonly bytes: number;
}

/** All blocks of the same resource and NUMA nodes, added up. */
export interface MemoryGroup extends MemoryBlock {
  /** Number of blocks in the sum. */
  readonly blocks: number;
}

/** Memory blocks of each container: a map by pod UID of maps by container name. */
type MemoryAssignments = ReadonlyMap<string, ReadonlyMap<string, readonly MemoryBlock[]>>;

/** Memory of the machine, and which containers have it. Immutable. */
export interface MemoryState {
  /** Memory of each NUMA node, by node id. */
  readonly nodes: ReadonlyMap<number, MemoryNode>;
  readonly assignments: MemoryAssignments;
  /**
   * Memory of pods as a whole, by pod UID. The containers of a pod share or divide the pod's memory. If the gate
   * `PodLevelResourceManagers` is on, pods with pod-level resources have an entry in this map. Default: none.
   */
  readonly pods?: ReadonlyMap<string, readonly MemoryBlock[]>;
}

export const noMemory: MemoryState = { nodes: new Map(), assignments: new Map() };

/**
 * Returns a container's blocks; `undefined` if no allocation was made. An allocation without memory has an empty list
 * of blocks.
 */
export function blocksOf(
  { assignments }: MemoryState,
  podUid: string,
  container: string,
): readonly MemoryBlock[] | undefined {
  return assignments.get(podUid)?.get(container);
}

/** Reports whether two lists have the same NUMA nodes, in any order. */
export function sameNodes(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((id) => b.includes(id));
}

/** Sets the blocks of a container, without changing the amounts of the NUMA nodes. */
export function withBlocks(
  state: MemoryState,
  podUid: string,
  container: string,
  blocks: readonly MemoryBlock[],
): MemoryState {
  const containers = new Map(state.assignments.get(podUid)).set(container, blocks);
  return { ...state, assignments: new Map(state.assignments).set(podUid, containers) };
}

/**
 * Marks the bytes of a block as used: takes them from the block's NUMA nodes in order, from each node as many as it has
 * free (`updateMachineState`).
 */
export function takeMemory(nodes: MemoryState['nodes'], block: MemoryBlock): MemoryState['nodes'] {
  return takeGroup(nodes, { ...block, blocks: 1 });
}

/** Marks the bytes of a group's blocks as used, as {@link takeMemory} does for each of the blocks. */
export function takeGroup(nodes: MemoryState['nodes'], group: MemoryGroup): MemoryState['nodes'] {
  let rest = group.bytes;
  return changed(nodes, group, (node, table) => {
    const taken = Math.min(rest, table?.free ?? 0);
    rest -= taken;
    return {
      assignments: node.assignments + group.blocks,
      cells: group.nodes,
      tables: moved(node.tables, group.resource, table, taken),
    };
  });
}

/** Marks the bytes of a block as free on the block's NUMA nodes, one node after the other (`releaseMemory`). */
export function returnMemory(nodes: MemoryState['nodes'], block: MemoryBlock): MemoryState['nodes'] {
  let rest = block.bytes;
  return changed(nodes, block, (node, table, id) => {
    const assignments = node.assignments - 1;
    const returned = Math.min(rest, table?.reserved ?? 0);
    rest -= returned;
    return {
      assignments,
      cells: assignments === 0 ? [id] : node.cells,
      tables: moved(node.tables, block.resource, table, -returned),
    };
  });
}

function changed(
  nodes: MemoryState['nodes'],
  { nodes: ids, resource }: MemoryBlock,
  change: (node: MemoryNode, table: MemoryTable | undefined, id: number) => MemoryNode,
): MemoryState['nodes'] {
  const next = new Map(nodes);
  for (const id of ids) {
    const node = nodes.get(id);
    if (node !== undefined) next.set(id, change(node, node.tables.get(resource), id));
  }
  return next;
}

function moved(
  tables: MemoryNode['tables'],
  resource: string,
  table: MemoryTable | undefined,
  bytes: number,
): MemoryNode['tables'] {
  if (table === undefined || bytes === 0) return tables;
  return new Map(tables).set(resource, { ...table, reserved: table.reserved + bytes, free: table.free - bytes });
}
