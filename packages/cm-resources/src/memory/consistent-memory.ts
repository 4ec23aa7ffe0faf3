import { inTakingOrder, memoryGroups } from './memory-groups.ts';
import { type MemoryNode, type MemoryState, sameNodes, takeGroup } from './memory-state.ts';

/**
 * Reports whether the amounts of the NUMA nodes add up to the allocations, as upstream checks at the start.
 * @param unused the nodes without allocations
 */
export function isConsistent(state: MemoryState, unused: MemoryState['nodes']): boolean {
  const groups = memoryGroups(state).map(({ nodes }) => nodes);
  return sameMemory(state.nodes, expectedNodes(unused, state), groups);
}

/**
 * Returns the state, with other amounts of the NUMA nodes if these do not fit the allocations. Memory is freed from the
 * first nodes of a group, but may have been taken from others. If a container has a node alone that is in a group of
 * other containers, the node would then have too little or too much free memory. Upstream keeps the wrong amounts, and
 * the next kubelet refuses its own state file.
 */
export function consistentMemory(state: MemoryState): MemoryState {
  const unused = new Map([...state.nodes].map(([id, node]) => [id, unusedNode(id, node)] as const));
  if (isConsistent(state, unused) && hasMemoryOfAll(state)) return state;
  return { ...state, nodes: expectedNodes(unused, state) };
}

/**
 * Reports whether each group of nodes has at least the memory in use that its own blocks need, and those of smaller
 * groups in it. If not, the sums can still be right, because too much memory is in use on the other nodes.
 */
function hasMemoryOfAll(state: MemoryState): boolean {
  const groups = memoryGroups(state);
  return groups.every(({ nodes, resource }) => {
    const inside = groups.filter((one) => one.resource === resource && one.nodes.every((id) => nodes.includes(id)));
    const reserved = nodes.map((id) => state.nodes.get(id)?.tables.get(resource)?.reserved ?? 0);
    return sum(reserved) >= sum(inside.map(({ bytes }) => bytes));
  });
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

/** Returns the nodes with the memory of all pods taken from them. */
function expectedNodes(unused: MemoryState['nodes'], state: MemoryState): MemoryState['nodes'] {
  return inTakingOrder(state).reduce(takeGroup, unused);
}

function unusedNode(id: number, { tables }: MemoryNode): MemoryNode {
  const free = [...tables].map(
    ([resource, table]) => [resource, { ...table, reserved: 0, free: table.allocatable }] as const,
  );
  return { assignments: 0, tables: new Map(free), cells: [id] };
}

/**
 * Reports whether two states of the nodes agree (`areMachineStatesEqual`). Constant amounts are compared per node.
 * Allocated amounts are compared per set of connected nodes, because the order of allocations, which is not stored,
 * decides which node of a group the memory was taken from. Groups can overlap if a container got a node of a group
 * alone; the node's group is then that of the last allocation.
 * @param groups node ids of each block; equal ones may be left out
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
  const total = (nodes: MemoryState['nodes'], field: 'free' | 'reserved'): number =>
    sum(connected.map((id) => nodes.get(id)?.tables.get(resource)?.[field] ?? 0));
  return total(a, 'free') === total(b, 'free') && total(a, 'reserved') === total(b, 'reserved');
}
