/** Amounts of one resource (`memory`, `hugepages-2Mi`) on a NUMA node, in bytes. */
export interface MemoryTable {
  readonly total: number;
  readonly systemReserved: number;
  /** Amount for containers: the total without the reservation and, for `memory`, without huge pages. */
  readonly allocatable: number;
  /** Amount that containers have. */
  readonly reserved: number;
  readonly free: number;
}

/** Memory of a NUMA node, and how containers use it. */
export interface MemoryNode {
  /** Number of blocks that include this node. */
  readonly assignments: number;
  /** Amounts by resource. */
  readonly tables: ReadonlyMap<string, MemoryTable>;
  /** Nodes that containers use together with this node, and the node itself: a node is in one group at a time. */
  readonly cells: readonly number[];
}

/** Memory of one kind that a container has, from any of its nodes. */
export interface MemoryBlock {
  /** NUMA node ids, sorted ascending. */
  readonly nodes: readonly number[];
  /** `memory` or `hugepages-<size>`. */
  readonly resource: string;
  readonly bytes: number;
}

/** Blocks by container name, by pod UID. */
type MemoryAssignments = ReadonlyMap<string, ReadonlyMap<string, readonly MemoryBlock[]>>;

/** Memory of the machine, and which containers have it. Immutable. */
export interface MemoryState {
  /** Memory of each NUMA node, by node id. */
  readonly nodes: ReadonlyMap<number, MemoryNode>;
  readonly assignments: MemoryAssignments;
  /**
   * Memory of pods as a whole, by pod UID, which their containers share or divide. A pod is here only with the gate
   * `PodLevelResourceManagers`. Default: none.
   */
  readonly pods?: ReadonlyMap<string, readonly MemoryBlock[]>;
}

export const noMemory: MemoryState = { nodes: new Map(), assignments: new Map() };

/** Returns a container's blocks; `undefined` if nothing was allocated, which differs from blocks of no bytes. */
export function blocksOf(
  { assignments }: MemoryState,
  podUid: string,
  container: string,
): readonly MemoryBlock[] | undefined {
  return assignments.get(podUid)?.get(container);
}

/** Sets the blocks of a container; the nodes' memory is not changed. */
export function withBlocks(
  state: MemoryState,
  podUid: string,
  container: string,
  blocks: readonly MemoryBlock[],
): MemoryState {
  const containers = new Map(state.assignments.get(podUid)).set(container, blocks);
  return { ...state, assignments: new Map(state.assignments).set(podUid, containers) };
}

/** Takes the bytes of a block from the nodes in order, from each node as many as it has free (`updateMachineState`). */
export function takeMemory(nodes: MemoryState['nodes'], block: MemoryBlock): MemoryState['nodes'] {
  let rest = block.bytes;
  return changed(nodes, block, (node, table) => {
    const taken = Math.min(rest, table?.free ?? 0);
    rest -= taken;
    return {
      assignments: node.assignments + 1,
      cells: block.nodes,
      tables: moved(node.tables, block.resource, table, taken),
    };
  });
}

/** Returns bytes of a block to the nodes in turn (`releaseMemory`). */
function returnMemory(nodes: MemoryState['nodes'], block: MemoryBlock): MemoryState['nodes'] {
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

/**
 * Frees a container's memory (`RemoveContainer`, `pkg/kubelet/cm/memorymanager/policy_static.go`). Memory of a pod as a
 * whole returns with the pod's last container.
 */
export function withoutMemory(state: MemoryState, podUid: string, container: string): MemoryState {
  const blocks = blocksOf(state, podUid, container);
  if (blocks === undefined) return state;
  const containers = new Map(state.assignments.get(podUid));
  containers.delete(container);
  const assignments = new Map(state.assignments);
  if (containers.size === 0) assignments.delete(podUid);
  else assignments.set(podUid, containers);
  const ofPod = state.pods?.get(podUid);
  if (ofPod !== undefined) {
    if (containers.size > 0) return { ...state, assignments };
    const pods = new Map(state.pods);
    pods.delete(podUid);
    return { nodes: ofPod.reduce(returnMemory, state.nodes), assignments, pods };
  }
  return { ...state, nodes: blocks.reduce(returnMemory, state.nodes), assignments };
}

/** Frees all memory of a pod. */
export function withoutPodMemory(state: MemoryState, podUid: string): MemoryState {
  const containers = [...(state.assignments.get(podUid)?.keys() ?? [])];
  return containers.reduce((left, container) => withoutMemory(left, podUid, container), state);
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
