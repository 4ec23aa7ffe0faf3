import { CpuSet } from '../cpuset/cpu-set.ts';
import type { CpuTopology } from '../machine/cpu-topology.ts';
import { type CpuOrder, FreeCpus } from './free-cpus.ts';
import { notEnoughCpus } from './not-enough-cpus.ts';

/** Options of {@link takePacked}. */
export interface PackedOptions {
  readonly order: CpuOrder;
  /** Whether CPUs are taken from as few uncore caches as possible. */
  readonly alignUncoreCaches: boolean;
}

/** State of a choice of CPUs in several steps. */
interface Choice {
  free: FreeCpus;
  taken: CpuSet;
  needed: number;
}

/**
 * Chooses CPUs from as few NUMA nodes, sockets, caches and cores as possible: whole groups while the request is large
 * enough, then single CPUs from the groups with the fewest free CPUs (`takeByTopologyNUMAPacked`,
 * `pkg/kubelet/cm/cpumanager/cpu_assignment.go`).
 * @throws ContainerResourcesError `Refused` if fewer than `count` CPUs are available
 */
export function takePacked(topology: CpuTopology, available: CpuSet, count: number, options: PackedOptions): CpuSet {
  const choice: Choice = { free: new FreeCpus(topology, available), taken: CpuSet.empty, needed: count };
  if (count > choice.free.cpus.size) throw notEnoughCpus(count, available.size);
  takeWhole(choice, choice.free.outer);
  takeWhole(choice, choice.free.inner);
  if (options.alignUncoreCaches) takeUncoreCaches(choice);
  if (options.order === 'packed') takeWhole(choice, 'core');
  take(choice, CpuSet.of(choice.free.cpuOrder(options.order).slice(0, Math.max(0, choice.needed))));
  return choice.taken;
}

function take(choice: Choice, cpus: CpuSet): void {
  if (cpus.isEmpty) return;
  choice.taken = choice.taken.union(cpus);
  choice.free = choice.free.without(cpus);
  choice.needed -= cpus.size;
}

/**
 * Takes completely free groups of a level while the request needs whole groups. The order of the groups is computed
 * once, before the first group is taken.
 */
function takeWhole(choice: Choice, level: 'numaNode' | 'socket' | 'core' | 'uncoreCache'): void {
  if (choice.needed < 1) return;
  const { topology } = choice.free;
  for (const id of choice.free.whole(level)) {
    const cpus = topology.cpusIn(level, [id]);
    // Takes only CPUs that are free. If cores have different numbers of online CPUs, a core can have a CPU in use and
    // still as many free CPUs as the average core has CPUs. Upstream takes all CPUs of such a core.
    if (choice.needed >= cpus.size) take(choice, cpus.intersection(choice.free.cpus));
  }
}

function takeUncoreCaches(choice: Choice): void {
  const { topology } = choice.free;
  for (const cache of choice.free.order('uncoreCache')) {
    if (choice.needed >= topology.cpusPerUncoreCache) takeWhole(choice, 'uncoreCache');
    if (choice.needed < 1) return;
    const cpus = partOfCache(choice, cache);
    if (cpus.size === choice.needed) take(choice, cpus);
    if (choice.needed < 1) return;
  }
}

/**
 * Returns the free CPUs of as many cores of a cache as the request needs. With several threads per core, the last
 * thread of an odd request is left out.
 */
function partOfCache({ free, needed }: Choice, cache: number): CpuSet {
  const { topology } = free;
  const coresNeeded = Math.trunc((needed + topology.cpusPerCore - 1) / topology.cpusPerCore);
  const locations = topology.locationsOf(free.in('uncoreCache', cache));
  const cores = CpuSet.of(locations.map(({ core }) => core)).list();
  const cpus = cores.slice(0, coresNeeded).flatMap((core) => free.in('core', core).list());
  const isOdd = needed % 2 !== 0 && topology.cpusPerCore > 1;
  const sorted = CpuSet.of(cpus).list();
  return CpuSet.of(isOdd && sorted.length > needed ? sorted.slice(0, -1) : sorted);
}
