import { formatResourceList, Quantity } from '@node-agent/pod-spec';
import type { MachineTopology, NumaNode } from '../machine/machine-topology.ts';
import { type MemoryBlock, type MemoryNode, type MemoryState, type MemoryTable, takeMemory } from './memory-state.ts';

/** Reserved bytes of each NUMA node (`reservedMemory`): a map by node id of maps by resource. */
export type MemoryReservation = ReadonlyMap<number, ReadonlyMap<string, number>>;

/** Returns the memory of each NUMA node when none is allocated to containers (`getDefaultMachineState`). */
export function unusedMemory({ nodes }: MachineTopology, reserved: MemoryReservation): MemoryState['nodes'] {
  return new Map(nodes.map((node) => [node.id, unusedNode(node, reserved.get(node.id) ?? new Map())] as const));
}

function unusedNode({ id, memoryBytes, hugePages }: NumaNode, reserved: ReadonlyMap<string, number>): MemoryNode {
  const table = (resource: string, total: number, other: number): readonly [string, MemoryTable] => {
    const systemReserved = reserved.get(resource) ?? 0;
    // The amount is never negative. In upstream, the unsigned number would wrap around, and the node would appear to
    // have endless memory.
    const allocatable = Math.max(0, total - systemReserved - other);
    return [resource, { total, systemReserved, allocatable, reserved: 0, free: allocatable }];
  };
  const pages = hugePages.map(
    ({ pageSizeBytes, count }) => [hugePageResource(pageSizeBytes), pageSizeBytes * count] as const,
  );
  const inHugePages = pages.reduce((sum, [, bytes]) => sum + bytes, 0);
  const tables = [
    ...pages.map(([resource, total]) => table(resource, total, 0)),
    table('memory', memoryBytes, inHugePages),
  ];
  return { assignments: 0, tables: new Map(tables), cells: [id] };
}

/** Returns the resource name of a huge page size: `hugepages-2Mi`. */
export function hugePageResource(pageSizeBytes: number): string {
  const { size = '' } = formatResourceList(new Map([['size', Quantity.of(pageSizeBytes, 'BinarySI')]]));
  return `hugepages-${size}`;
}

/**
 * Returns the memory state to start with: the stored state or, if the stored state is empty, a state in which all
 * memory is free (`validateState`, `pkg/kubelet/cm/memorymanager/policy_static.go`).
 * @returns the problem in upstream's wording if the stored state does not fit the machine or its reservations
 */
export function startingMemoryState(stored: MemoryState, unused: MemoryState['nodes']): MemoryState | string {
  if (stored.nodes.size === 0) {
    if (stored.assignments.size === 0) return { nodes: unused, assignments: new Map() };
    return '[memorymanager] machine state can not be empty when it has memory assignments';
  }
  let expected = unused;
  const groups: (readonly number[])[] = [];
  for (const [pod, containers] of stored.assignments) {
    // The blocks of the containers are parts of the pod's blocks if the pod has memory as a whole.
    const ofPod = stored.pods?.get(pod);
    for (const [container, blocks] of ofPod === undefined ? containers : [['', ofPod] as const]) {
      for (const block of blocks) {
        const whose = `(pod: ${pod}, container: ${container})`;
        const problem = blockProblem(block, unused);
        if (problem !== undefined) return `[memorymanager] ${whose} the memory assignment uses ${problem}`;
        expected = takeMemory(expected, block);
        groups.push(block.nodes);
      }
    }
  }
  if (sameMemory(stored.nodes, expected, groups)) return stored;
  return '[memorymanager] the expected machine state is different from the real one';
}

function blockProblem({ nodes: ids, resource }: MemoryBlock, unused: MemoryState['nodes']): string | undefined {
  if (ids.length === 0) return 'no NUMA node';
  if (new Set(ids).size < ids.length) return 'a NUMA node twice';
  const nodes = ids.map((id) => unused.get(id));
  if (nodes.includes(undefined)) return 'the NUMA that does not exist';
  return nodes.some((node) => !node?.tables.has(resource)) ? 'memory resource that does not exist' : undefined;
}

/**
 * Reports whether two states of the nodes agree (`areMachineStatesEqual`). Constant amounts are compared per node.
 * Allocated amounts are compared per set of connected nodes, because the order of allocations, which is not stored,
 * decides which node of a group the memory was taken from. Groups can overlap if a container got a node of a group
 * alone; the node's group is then that of the last allocation.
 * @param groups nodes of all blocks
 */
function sameMemory(a: MemoryState['nodes'], b: MemoryState['nodes'], groups: readonly (readonly number[])[]): boolean {
  if (a.size !== b.size) return false;
  return [...a].every(([id, node]) => {
    const other = b.get(id);
    if (other === undefined || node.assignments !== other.assignments) return false;
    const possible = groups.filter((group) => group.includes(id));
    if (!(possible.length === 0 ? [[id]] : possible).some((group) => sameNodes(group, node.cells))) return false;
    if (node.tables.size !== other.tables.size) return false;
    const connected = connectedTo(id, groups);
    return [...node.tables].every(([resource, table]) => {
      const its = other.tables.get(resource);
      if (its === undefined || table.total !== its.total || table.systemReserved !== its.systemReserved) return false;
      return table.allocatable === its.allocatable && sameSums(a, b, connected, resource);
    });
  });
}

function sameNodes(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((id) => b.includes(id));
}

/** Returns a node and all nodes that are connected to it by groups, directly or through other nodes. */
function connectedTo(id: number, groups: readonly (readonly number[])[]): readonly number[] {
  const connected = new Set([id]);
  for (let size = 0; size < connected.size; ) {
    size = connected.size;
    for (const group of groups) {
      if (group.some((node) => connected.has(node))) for (const node of group) connected.add(node);
    }
  }
  return [...connected];
}

function sameSums(
  a: MemoryState['nodes'],
  b: MemoryState['nodes'],
  connected: readonly number[],
  resource: string,
): boolean {
  const sum = (nodes: MemoryState['nodes'], field: 'free' | 'reserved'): number =>
    connected.reduce((all, id) => all + (nodes.get(id)?.tables.get(resource)?.[field] ?? 0), 0);
  return sum(a, 'free') === sum(b, 'free') && sum(a, 'reserved') === sum(b, 'reserved');
}
