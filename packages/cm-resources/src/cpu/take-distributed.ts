import { CpuSet } from '../cpuset/cpu-set.ts';
import type { CpuTopology } from '../machine/cpu-topology.ts';
import { type CpuOrder, FreeCpus } from './free-cpus.ts';
import { notEnoughCpus } from './not-enough-cpus.ts';
import { takePacked } from './take-packed.ts';

/** Options of the distribution of CPUs. */
export interface DistributedOptions {
  readonly order: CpuOrder;
  /** Number of CPUs that are taken together: the CPUs per core if containers must not share a core, otherwise 1. */
  readonly groupSize: number;
}

/** Request for CPUs, and the free CPUs of each NUMA node. */
interface Demand {
  readonly count: number;
  readonly groupSize: number;
  /** Number of free CPUs by NUMA node, in the order in which the nodes are considered. */
  readonly free: ReadonlyMap<number, number>;
}

/** A possible distribution of a request over NUMA nodes. */
interface Distribution {
  readonly nodes: readonly number[];
  /** Number of CPUs that are taken from each of `nodes`. */
  readonly each: number;
  /** Nodes from which the remaining groups of CPUs are taken, one group from each node in turn. */
  readonly remainder: readonly number[];
  /** Standard deviation of the free CPUs per node after the allocation; lower is better. */
  readonly imbalance: number;
}

/**
 * Chooses CPUs from the fewest NUMA nodes over which the request can be distributed evenly; the choice that leaves the
 * free CPUs most balanced wins (KEP-2902, `takeByTopologyNUMADistributed`,
 * `pkg/kubelet/cm/cpumanager/cpu_assignment.go`). If no even distribution exists, CPUs are chosen as by
 * {@link takePacked}.
 * @throws ContainerResourcesError `Refused` if fewer than `count` CPUs are available
 */
export function takeDistributed(
  topology: CpuTopology,
  available: CpuSet,
  count: number,
  { order, groupSize }: DistributedOptions,
): CpuSet {
  const packed = (cpus: CpuSet, needed: number): CpuSet =>
    takePacked(topology, cpus, needed, { order, alignUncoreCaches: false });
  if (count % groupSize !== 0) return packed(available, count);
  if (count < 1) return CpuSet.empty;
  const free = new FreeCpus(topology, available);
  if (count > free.cpus.size) throw notEnoughCpus(count, available.size);
  const nodes = free.order('numaNode');
  const demand = { count, groupSize, free: new Map(nodes.map((id) => [id, free.in('numaNode', id).size])) };
  for (let size = fewestNodes(topology, demand); size <= mostNodes(demand); size++) {
    const best = bestDistribution(demand, size);
    if (best !== undefined) return taken(free, demand, best, packed);
  }
  return packed(available, count);
}

function fewestNodes({ cpus, numaNodes }: CpuTopology, { count, groupSize }: Demand): number {
  const groups = Math.ceil(cpus.size / groupSize);
  return Math.ceil(Math.ceil(count / groupSize) / Math.ceil(groups / numaNodes.length));
}

function mostNodes({ count, groupSize, free }: Demand): number {
  return Math.min(Math.ceil(count / groupSize), free.size);
}

/** Returns the most balanced distribution over this number of nodes; of several equal ones, the first. */
function bestDistribution(demand: Demand, size: number): Distribution | undefined {
  let best: Distribution | undefined;
  for (const nodes of combinations([...demand.free.keys()], size)) {
    const one = distribution(demand, nodes);
    if (one !== undefined && (best === undefined || one.imbalance < best.imbalance)) best = one;
    if (best?.imbalance === 0) break;
  }
  return best;
}

function distribution({ count, groupSize, free }: Demand, nodes: readonly number[]): Distribution | undefined {
  const freeIn = (node: number): number => free.get(node) ?? 0;
  const groups = nodes.reduce((sum, node) => sum + Math.trunc(freeIn(node) / groupSize), 0);
  if (groups * groupSize < count) return undefined;
  const each = Math.trunc(Math.trunc(count / nodes.length) / groupSize) * groupSize;
  if (nodes.some((node) => freeIn(node) < each)) return undefined;
  const left = new Map(free);
  for (const node of nodes) left.set(node, freeIn(node) - each);
  const rest = count - each * nodes.length;
  if (rest === 0) return { nodes, each, remainder: [], imbalance: standardDeviation([...left.values()]) };
  const remainder = bestRemainder(left, rest, groupSize, nodes);
  return remainder && { nodes, each, ...remainder };
}

/**
 * Chooses the nodes from which the remaining CPUs are taken. If the balance is equal, as many nodes as possible are
 * chosen.
 */
function bestRemainder(
  left: ReadonlyMap<number, number>,
  rest: number,
  groupSize: number,
  nodes: readonly number[],
): Pick<Distribution, 'remainder' | 'imbalance'> | undefined {
  const able = nodes.filter((node) => (left.get(node) ?? 0) >= groupSize);
  let best: Pick<Distribution, 'remainder' | 'imbalance'> | undefined;
  for (let size = able.length; size >= 1; size--) {
    for (const subset of combinations(able, size)) {
      const after = afterRemainder(left, rest, groupSize, subset);
      if (after === undefined) continue;
      const imbalance = standardDeviation([...after.values()]);
      if (best === undefined || imbalance < best.imbalance) best = { remainder: subset, imbalance };
    }
  }
  return best;
}

function afterRemainder(
  left: ReadonlyMap<number, number>,
  rest: number,
  groupSize: number,
  subset: readonly number[],
): ReadonlyMap<number, number> | undefined {
  const groups = subset.reduce((sum, node) => sum + Math.trunc((left.get(node) ?? 0) / groupSize), 0);
  if (groups * groupSize < rest) return undefined;
  const after = new Map(left);
  roundRobin(
    subset,
    rest,
    groupSize,
    (node) => after.get(node) ?? 0,
    (node) => {
      after.set(node, (after.get(node) ?? 0) - groupSize);
    },
  );
  return after;
}

/** Takes the remaining CPUs, one group from each node in turn. */
function roundRobin(
  nodes: readonly number[],
  count: number,
  groupSize: number,
  freeIn: (node: number) => number,
  take: (node: number) => void,
): void {
  for (let rest = count; rest > 0; ) {
    const before = rest;
    for (const node of nodes) {
      if (rest === 0) break;
      if (freeIn(node) < groupSize) continue;
      take(node);
      rest -= groupSize;
    }
    if (rest === before) return;
  }
}

function taken(
  all: FreeCpus,
  { count, groupSize }: Demand,
  { nodes, each, remainder }: Distribution,
  packed: (cpus: CpuSet, needed: number) => CpuSet,
): CpuSet {
  let free = all;
  const take = (node: number, needed: number): void => {
    free = free.without(packed(free.in('numaNode', node), needed));
  };
  for (const node of nodes) take(node, each);
  roundRobin(
    remainder,
    count - each * nodes.length,
    groupSize,
    (node) => free.in('numaNode', node).size,
    (node) => take(node, groupSize),
  );
  return all.cpus.difference(free.cpus);
}

/** Yields all subsets of a size, in lexical order of their positions. */
function* combinations<T>(of: readonly T[], size: number, start = 0): Generator<readonly T[], void, undefined> {
  if (size === 0) {
    yield [];
    return;
  }
  for (let index = start; index <= of.length - size; index++) {
    for (const rest of combinations(of, size - 1, index + 1)) yield [of[index] as T, ...rest];
  }
}

/**
 * Returns the standard deviation, rounded to three digits as in upstream, so that equal distributions compare equal.
 */
function standardDeviation(values: readonly number[]): number {
  const rounded = (value: number): number => Math.round(value * 1000) / 1000;
  const mean = rounded(values.reduce((sum, value) => sum + value, 0) / values.length);
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return rounded(Math.sqrt(squares / values.length));
}
