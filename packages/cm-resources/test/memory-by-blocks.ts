import { withoutAssignment } from '../src/assignments.ts';
import {
  blocksOf,
  type MemoryBlock,
  type MemoryNode,
  type MemoryState,
  returnMemory,
  sameNodes,
  takeMemory,
} from '../src/memory/memory-state.ts';

/**
 * Frees a container's memory as `withoutMemory` does, but adds up each block by itself. Slow and simple: the reference
 * to which tests compare the sums that the memory manager keeps.
 */
export function withoutMemoryByBlocks(state: MemoryState, podUid: string, container: string): MemoryState {
  const blocks = blocksOf(state, podUid, container);
  if (blocks === undefined) return state;
  const { assignments, others } = withoutAssignment(state.assignments, podUid, container);
  const ofPod = state.pods?.get(podUid);
  if (ofPod !== undefined) {
    if (others.size > 0) return { ...state, assignments };
    const pods = new Map(state.pods);
    pods.delete(podUid);
    return consistentMemory({ nodes: ofPod.reduce(returnMemory, state.nodes), assignments, pods });
  }
  return consistentMemory({ ...state, nodes: blocks.reduce(returnMemory, state.nodes), assignments });
}

function isConsistent(state: MemoryState, unused: MemoryState['nodes']): boolean {
  const blocks = allBlocks(state);
  const groups = blocks.map(({ nodes }) => nodes);
  return sameMemory(state.nodes, expectedNodes(unused, blocks), groups);
}

function consistentMemory(state: MemoryState): MemoryState {
  const unused = new Map([...state.nodes].map(([id, node]) => [id, unusedNode(id, node)] as const));
  if (isConsistent(state, unused) && hasMemoryOfAll(state)) return state;
  return { ...state, nodes: expectedNodes(unused, allBlocks(state)) };
}

function hasMemoryOfAll(state: MemoryState): boolean {
  const needed = new Map<string, MemoryBlock>();
  for (const block of allBlocks(state)) {
    const key = `${block.nodes.join()} ${block.resource}`;
    needed.set(key, { ...block, bytes: block.bytes + (needed.get(key)?.bytes ?? 0) });
  }
  const groups = [...needed.values()];
  return groups.every(({ nodes, resource }) => {
    const inside = groups.filter((one) => one.resource === resource && one.nodes.every((id) => nodes.includes(id)));
    const reserved = nodes.map((id) => state.nodes.get(id)?.tables.get(resource)?.reserved ?? 0);
    return sum(reserved) >= sum(inside.map(({ bytes }) => bytes));
  });
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

function allBlocks({ assignments, pods }: MemoryState): readonly MemoryBlock[] {
  return [...assignments].flatMap(([uid, containers]) => pods?.get(uid) ?? [...containers.values()].flat());
}

function expectedNodes(unused: MemoryState['nodes'], blocks: readonly MemoryBlock[]): MemoryState['nodes'] {
  return blocks.toSorted((a, b) => a.nodes.length - b.nodes.length).reduce(takeMemory, unused);
}

function unusedNode(id: number, { tables }: MemoryNode): MemoryNode {
  const free = [...tables].map(
    ([resource, table]) => [resource, { ...table, reserved: 0, free: table.allocatable }] as const,
  );
  return { assignments: 0, tables: new Map(free), cells: [id] };
}

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
