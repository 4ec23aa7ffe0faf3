import type { TopologyHint, TopologyHints } from '@node-agent/contracts';
import { ContainerResourcesError } from '../errors.ts';
import type { NumaNode } from '../machine/machine-topology.ts';
import { type CompareMasks, hintLists, mergeHints, narrowest } from './merge-hints.ts';
import { type NumaMask, nodeCount, nodesOf } from './numa-mask.ts';
import type { TopologyOptions, TopologyPolicyName } from './topology-options.ts';

/** Decision about a container or a pod: the NUMA nodes from which it gets its resources, and whether it is admitted. */
interface Alignment {
  readonly affinity: TopologyHint;
  readonly admit: boolean;
}

/** Decides from which NUMA nodes a pod gets its resources (`Policy`, `pkg/kubelet/cm/topologymanager`). */
export interface TopologyPolicy {
  readonly name: TopologyPolicyName;
  merge(providers: readonly TopologyHints[]): Alignment;
}

/**
 * Creates the policy.
 * @throws ContainerResourcesError `InvalidOptions` if the machine has too many NUMA nodes, or no distances
 */
export function topologyPolicy(
  name: TopologyPolicyName,
  nodes: readonly NumaNode[],
  options: TopologyOptions,
): TopologyPolicy {
  if (name === 'none')
    return { name, merge: () => ({ affinity: { nodes: undefined, preferred: false }, admit: true }) };
  const { preferClosestNumaNodes, maxAllowableNumaNodes } = options;
  if (preferClosestNumaNodes && nodes.some(({ distances }) => distances === undefined)) {
    throw invalid('cannot discover NUMA topology: error getting NUMA distances from cadvisor');
  }
  if (nodes.length > maxAllowableNumaNodes) {
    throw invalid(`unsupported on machines with more than ${maxAllowableNumaNodes} NUMA Nodes`);
  }
  const ids = nodes.map(({ id }) => id);
  if (name === 'single-numa-node') return { name, merge: (providers) => singleNode(ids, providers) };
  const better = preferClosestNumaNodes ? closest(nodes) : narrowest;
  return {
    name,
    merge(providers) {
      const affinity = mergeHints(ids, hintLists(providers), better);
      return { affinity, admit: name === 'best-effort' || affinity.preferred };
    },
  };
}

/** Decides as the policy `single-numa-node`: considers only preferred hints with one node, and hints without nodes. */
function singleNode(ids: readonly number[], providers: readonly TopologyHints[]): Alignment {
  const lists = hintLists(providers).map((list) =>
    list.filter(({ nodes, preferred }) => preferred && (nodes === undefined || nodes.length === 1)),
  );
  const best = mergeHints(ids, lists);
  const isAny = best.nodes.length === ids.length;
  return { affinity: isAny ? { nodes: undefined, preferred: best.preferred } : best, admit: best.preferred };
}

/**
 * Returns a comparison that, of masks with equally many nodes, prefers the mask with the shortest average distance
 * between its nodes (`Closest`, `numa_info.go`).
 */
function closest(nodes: readonly NumaNode[]): CompareMasks {
  const distances = new Map(nodes.map(({ id, distances: of }) => [id, of]));
  const average = (mask: NumaMask): number => {
    const of = nodesOf(mask);
    const sum = of.reduce((all, a) => all + of.reduce((part, b) => part + (distances.get(a)?.get(b) ?? 0), 0), 0);
    return sum / of.length ** 2;
  };
  return (a, b) => {
    if (nodeCount(a) !== nodeCount(b)) return narrowest(a, b);
    const [ofA, ofB] = [average(a), average(b)];
    if (ofA === ofB) return narrowest(a, b);
    return ofA < ofB ? a : b;
  };
}

function invalid(message: string): ContainerResourcesError {
  return new ContainerResourcesError('InvalidOptions', message);
}
