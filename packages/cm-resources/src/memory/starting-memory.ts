import { formatResourceList, Quantity } from '@node-agent/pod-spec';
import type { MachineTopology, NumaNode } from '../machine/machine-topology.ts';
import { type MemoryNode, type MemoryState, type MemoryTable, takeMemory } from './memory-state.ts';

/** Reserved bytes by resource, by NUMA node (`reservedMemory`). */
export type MemoryReservation = ReadonlyMap<number, ReadonlyMap<string, number>>;

/** Returns the memory of a machine on which no container has any (`getDefaultMachineState`). */
export function unusedMemory({ nodes }: MachineTopology, reserved: MemoryReservation): MemoryState['nodes'] {
  return new Map(nodes.map((node) => [node.id, unusedNode(node, reserved.get(node.id) ?? new Map())] as const));
}

function unusedNode({ id, memoryBytes, hugePages }: NumaNode, reserved: ReadonlyMap<string, number>): MemoryNode {
  const table = (resource: string, total: number, other: number): readonly [string, MemoryTable] => {
    const systemReserved = reserved.get(resource) ?? 0;
    // Never negative: upstream's unsigned numbers would wrap around, and the node would have endless memory.
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
 * Returns the state to start with: the stored one or, if that is empty, one in which all memory is free
 * (`validateState`, `pkg/kubelet/cm/memorymanager/policy_static.go`).
 * @returns the problem in upstream's wording if the stored state does not fit the machine or its reservations
 */
export function startingMemoryState(stored: MemoryState, unused: MemoryState['nodes']): MemoryState | string {
  if (stored.nodes.size === 0) {
    if (stored.assignments.size === 0) return { nodes: unused, assignments: new Map() };
    return '[memorymanager] machine state can not be empty when it has memory assignments';
  }
  let expected = unused;
  for (const [pod, containers] of stored.assignments) {
    for (const [container, blocks] of containers) {
      for (const block of blocks) {
        const whose = `(pod: ${pod}, container: ${container})`;
        if (block.nodes.length === 0) return `[memorymanager] ${whose} the memory assignment uses no NUMA node`;
        if (new Set(block.nodes).size < block.nodes.length) {
          return `[memorymanager] ${whose} the memory assignment uses a NUMA node twice`;
        }
        const nodes = block.nodes.map((id) => unused.get(id));
        if (nodes.includes(undefined)) {
          return `[memorymanager] ${whose} the memory assignment uses the NUMA that does not exist`;
        }
        if (nodes.some((node) => !node?.tables.has(block.resource))) {
          return `[memorymanager] ${whose} the memory assignment uses memory resource that does not exist`;
        }
        expected = takeMemory(expected, block);
      }
    }
  }
  if (sameMemory(stored.nodes, expected)) return stored;
  return '[memorymanager] the expected machine state is different from the real one';
}

/**
 * Compares per node what cannot change, and per group of nodes what containers have: within a group, the order of
 * allocations decides which node gave the memory (`areMachineStatesEqual`).
 */
function sameMemory(a: MemoryState['nodes'], b: MemoryState['nodes']): boolean {
  if (a.size !== b.size) return false;
  return [...a].every(([id, node]) => {
    const other = b.get(id);
    if (other === undefined || node.assignments !== other.assignments || !sameCells(node, other)) return false;
    if (node.tables.size !== other.tables.size) return false;
    return [...node.tables].every(([resource, table]) => {
      const its = other.tables.get(resource);
      if (its === undefined || table.total !== its.total || table.systemReserved !== its.systemReserved) return false;
      return table.allocatable === its.allocatable && sameSums(a, b, node.cells, resource);
    });
  });
}

function sameCells({ cells: a }: MemoryNode, { cells: b }: MemoryNode): boolean {
  return a.length === b.length && a.every((cell) => b.includes(cell));
}

function sameSums(
  a: MemoryState['nodes'],
  b: MemoryState['nodes'],
  cells: readonly number[],
  resource: string,
): boolean {
  const sum = (nodes: MemoryState['nodes'], field: 'free' | 'reserved'): number =>
    cells.reduce((all, cell) => all + (nodes.get(cell)?.tables.get(resource)?.[field] ?? 0), 0);
  return sum(a, 'free') === sum(b, 'free') && sum(a, 'reserved') === sum(b, 'reserved');
}
