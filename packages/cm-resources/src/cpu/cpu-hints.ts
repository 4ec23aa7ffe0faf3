import type { TopologyHint } from '@node-agent/contracts';
import type { CpuSet } from '../cpuset/cpu-set.ts';
import type { CpuTopology } from '../machine/cpu-topology.ts';
import { subsets } from '../topology/numa-mask.ts';

/** CPUs from which the CPUs of a container or pod are chosen. */
export interface CpuSupply {
  readonly available: CpuSet;
  /**
   * CPUs that must be among the chosen ones, because the container already has them or reuses them from init
   * containers.
   */
  readonly reusable: CpuSet;
}

/**
 * Returns the sets of NUMA nodes from which CPUs can be allocated. A set is preferred if it has as few nodes as the
 * request would need on a machine whose CPUs are all free (`generateCPUTopologyHints`,
 * `pkg/kubelet/cm/cpumanager/policy_static.go`).
 * @param alignBySocket whether hints that span as few sockets as possible are preferred too
 */
export function cpuHints(
  topology: CpuTopology,
  { available, reusable }: CpuSupply,
  requested: number,
  alignBySocket: boolean,
): readonly TopologyHint[] {
  const nodeSizes = topology.groups('numaNode');
  const free = countByNode(topology, available);
  const kept = countByNode(topology, reusable);
  let fewest = topology.numaNodes.length;
  const fitting: (readonly number[])[] = [];
  for (const nodes of subsets(topology.numaNodes)) {
    const total = nodes.reduce((sum, node) => sum + (nodeSizes.get(node)?.length ?? 0), 0);
    if (total >= requested) fewest = Math.min(fewest, nodes.length);
    if (![...kept.keys()].every((node) => nodes.includes(node))) continue;
    const matching = nodes.reduce((sum, node) => sum + (free.get(node) ?? 0), reusable.size);
    if (matching >= requested) fitting.push(nodes);
  }
  return fitting.map((nodes) => ({
    nodes,
    preferred: nodes.length === fewest || (alignBySocket && spansFewestSockets(topology, nodes, fewest)),
  }));
}

/** Reports whether the nodes span as few sockets as `fewest` nodes would (`isHintSocketAligned`). */
function spansFewestSockets(topology: CpuTopology, nodes: readonly number[], fewest: number): boolean {
  const nodesPerSocket = Math.trunc(topology.numaNodes.length / topology.socketCount);
  if (nodesPerSocket === 0) return false;
  const cpus = topology.locationsOf(topology.cpusIn('numaNode', nodes));
  return new Set(cpus.map(({ socket }) => socket)).size === Math.ceil(fewest / nodesPerSocket);
}

/** Returns the CPUs of the hint's nodes or, if aligned by socket, of their sockets (`getAlignedCPUs`). */
export function alignedCpus(
  topology: CpuTopology,
  nodes: readonly number[],
  allocatable: CpuSet,
  alignBySocket: boolean,
): CpuSet {
  const ofNodes = topology.cpusIn('numaNode', nodes);
  if (!alignBySocket) return allocatable.intersection(ofNodes);
  const sockets = topology.locationsOf(ofNodes).map(({ socket }) => socket);
  return allocatable.intersection(topology.cpusIn('socket', new Set(sockets)));
}

function countByNode(topology: CpuTopology, cpus: CpuSet): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const { numaNode } of topology.locationsOf(cpus)) counts.set(numaNode, (counts.get(numaNode) ?? 0) + 1);
  return counts;
}
