import type { TopologyHint } from '@node-agent/contracts';
import { subsets } from '../topology/numa-mask.ts';
import type { MemoryState } from './memory-state.ts';
import type { MemoryRequest } from './requested-memory.ts';

/**
 * Returns the bytes of a resource that a container may reuse from init containers, if its memory comes from exactly
 * these NUMA nodes.
 */
export type ReusableMemory = (nodes: readonly number[], resource: string) => number;

const nothingReusable: ReusableMemory = () => 0;

/**
 * Returns the sets of NUMA nodes from which a request can be allocated; all resources have the same hints. A NUMA node
 * that already serves allocations alone cannot become part of a group of nodes, and a node in a group cannot serve
 * allocations alone (`calculateHints`, `pkg/kubelet/cm/memorymanager/policy_static.go`).
 */
export function memoryHints(
  nodes: MemoryState['nodes'],
  request: MemoryRequest,
  reusable: ReusableMemory = nothingReusable,
): readonly TopologyHint[] {
  const ids = [...nodes.keys()].sort((a, b) => a - b);
  let fewest = ids.length;
  const fitting: (readonly number[])[] = [];
  for (const group of subsets(ids)) {
    if (![...request].every(([name, bytes]) => total(nodes, group, name, 'allocatable') >= bytes)) continue;
    fewest = Math.min(fewest, group.length);
    if (!canGroup(nodes, group)) continue;
    const fits = [...request].every(
      ([name, bytes]) => total(nodes, group, name, 'free') + reusable(group, name) >= bytes,
    );
    if (fits) fitting.push(group);
  }
  return fitting.map((group) => ({ nodes: group, preferred: group.length === fewest }));
}

/** Reports whether a group of NUMA nodes has enough free memory for a request (`isAffinitySatisfyRequest`). */
export function hasRoom(nodes: MemoryState['nodes'], group: readonly number[], request: MemoryRequest): boolean {
  return [...request].every(([name, bytes]) => total(nodes, group, name, 'free') >= bytes);
}

/**
 * Reports whether an allocation from the group would leave each NUMA node in only one group. A single node always
 * passes, because the hints already exclude single nodes that are in a group (`isAffinityViolatingNUMAAllocations`).
 */
export function keepsGroups(nodes: MemoryState['nodes'], group: readonly number[]): boolean {
  return group.length === 1 || canGroup(nodes, group);
}

function canGroup(nodes: MemoryState['nodes'], group: readonly number[]): boolean {
  return group.every((id) => {
    const { assignments = 0, cells = [id] } = nodes.get(id) ?? {};
    if (group.length === 1) return cells.length === 1;
    if (assignments === 0) return true;
    return cells.length === group.length && cells.every((cell) => group.includes(cell));
  });
}

function total(
  nodes: MemoryState['nodes'],
  group: readonly number[],
  resource: string,
  field: 'free' | 'allocatable',
): number {
  return group.reduce((sum, id) => sum + (nodes.get(id)?.tables.get(resource)?.[field] ?? 0), 0);
}

/**
 * Returns the best hint. Preferred hints win; among equals, the hint with the fewest nodes wins, and then the one with
 * the lowest nodes (`findBestHint`).
 */
export function bestHint(hints: readonly TopologyHint[]): TopologyHint | undefined {
  return hints.reduce<TopologyHint | undefined>((best, hint) => {
    if (best === undefined) return hint;
    if (hint.preferred !== best.preferred) return hint.preferred ? hint : best;
    return isNarrowerHint(hint, best) ? hint : best;
  }, undefined);
}

function isNarrowerHint({ nodes: a = [] }: TopologyHint, { nodes: b = [] }: TopologyHint): boolean {
  if (a.length !== b.length) return a.length < b.length;
  // The nodes are compared from the highest node down, as upstream's bit masks are.
  for (let index = a.length - 1; index >= 0; index--) {
    const [left = 0, right = 0] = [a[index], b[index]];
    if (left !== right) return left < right;
  }
  return false;
}
