import { formatResourceList, Quantity } from '@node-agent/pod-spec';
import type { MachineTopology, NumaNode } from '../machine/machine-topology.ts';
import { consistentMemory, isConsistent } from './consistent-memory.ts';
import type { MemoryBlock, MemoryNode, MemoryState, MemoryTable } from './memory-state.ts';

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
  for (const [pod, containers] of stored.assignments) {
    // The blocks of the containers are parts of the pod's blocks if the pod has memory as a whole.
    const ofPod = stored.pods?.get(pod);
    for (const [container, blocks] of ofPod === undefined ? containers : [['', ofPod] as const]) {
      for (const block of blocks) {
        const whose = `(pod: ${pod}, container: ${container})`;
        const problem = blockProblem(block, unused);
        if (problem !== undefined) return `[memorymanager] ${whose} the memory assignment uses ${problem}`;
      }
    }
  }
  // The sums can be right although a node shows memory as free that a container has on this node alone.
  if (isConsistent(stored, unused)) return consistentMemory(stored);
  return '[memorymanager] the expected machine state is different from the real one';
}

function blockProblem({ nodes: ids, resource }: MemoryBlock, unused: MemoryState['nodes']): string | undefined {
  if (ids.length === 0) return 'no NUMA node';
  if (new Set(ids).size < ids.length) return 'a NUMA node twice';
  const nodes = ids.map((id) => unused.get(id));
  if (nodes.includes(undefined)) return 'the NUMA that does not exist';
  return nodes.some((node) => !node?.tables.has(resource)) ? 'memory resource that does not exist' : undefined;
}
