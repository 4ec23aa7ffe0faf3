import { CpuSet } from '../cpuset/cpu-set.ts';
import {
  type CpuGroups,
  type CpuLevel,
  type CpuLocation,
  type CpuTopology,
  groupCpus,
} from '../machine/cpu-topology.ts';

/** Order in which single CPUs are taken: `packed` is core by core, `spread` is by CPU id over all cores of a socket. */
export type CpuOrder = 'packed' | 'spread';

/**
 * Free CPUs during an allocation, and the orders in which their NUMA nodes, sockets, cores and caches are considered:
 * by the number of free CPUs, fewest first, then by id (`cpuAccumulator` in
 * `pkg/kubelet/cm/cpumanager/cpu_assignment.go`). If the machine has more NUMA nodes than sockets, sockets are the
 * outer level, otherwise NUMA nodes are.
 */
export class FreeCpus {
  readonly topology: CpuTopology;
  readonly cpus: CpuSet;
  readonly #locations: readonly CpuLocation[];
  readonly #groups = new Map<CpuLevel, CpuGroups>();

  constructor(topology: CpuTopology, cpus: CpuSet) {
    this.topology = topology;
    this.cpus = cpus.intersection(topology.cpus);
    this.#locations = topology.locationsOf(this.cpus);
  }

  /** The outer level of the topology, whose groups are considered first. */
  get outer(): 'numaNode' | 'socket' {
    return this.topology.socketCount >= this.topology.numaNodes.length ? 'numaNode' : 'socket';
  }

  get inner(): 'numaNode' | 'socket' {
    return this.outer === 'numaNode' ? 'socket' : 'numaNode';
  }

  /** Returns the free CPUs of the group (for example, the socket) with this id. */
  in(level: CpuLevel, id: number): CpuSet {
    return CpuSet.of((this.#grouped(level).get(id) ?? []).map(({ cpu }) => cpu));
  }

  /** Returns the ids of a level's groups that have free CPUs, in the order in which the groups are considered. */
  order(level: 'numaNode' | 'socket' | 'core' | 'uncoreCache'): readonly number[] {
    if (level === this.outer) return this.#byFree(level, this.#locations);
    const parents = level === 'core' ? this.inner : level === 'uncoreCache' ? 'numaNode' : this.outer;
    const ids = this.order(parents).flatMap((id) => this.#byFree(level, this.#grouped(parents).get(id) ?? []));
    // On an unusual machine, a socket is a part of several NUMA nodes. Such a socket is considered only once.
    return [...new Set(ids)];
  }

  /** Returns the free CPUs in the order in which single CPUs are taken. */
  cpuOrder(order: CpuOrder): readonly number[] {
    const level = order === 'packed' ? 'core' : 'socket';
    return this.order(level).flatMap((id) => this.in(level, id).list());
  }

  /** Returns the groups of a level of which all CPUs are free, in the order in which the groups are considered. */
  whole(level: 'numaNode' | 'socket' | 'core' | 'uncoreCache'): readonly number[] {
    return this.order(level).filter((id) => this.in(level, id).size === this.#sizeOf(level, id));
  }

  without(taken: CpuSet): FreeCpus {
    return new FreeCpus(this.topology, this.cpus.difference(taken));
  }

  /**
   * Returns the number of CPUs of a group. For a socket or core, this is the average of the machine, as in upstream.
   */
  #sizeOf(level: CpuLevel, id: number): number {
    if (level === 'socket') return this.topology.cpusPerSocket;
    if (level === 'core') return this.topology.cpusPerCore;
    return this.topology.groups(level).get(id)?.length ?? 0;
  }

  #grouped(level: CpuLevel): CpuGroups {
    const known = this.#groups.get(level) ?? groupCpus(this.#locations, level);
    this.#groups.set(level, known);
    return known;
  }

  #byFree(level: CpuLevel, among: readonly CpuLocation[]): readonly number[] {
    const free = this.#grouped(level);
    const count = (id: number): number => free.get(id)?.length ?? 0;
    return [...groupCpus(among, level).keys()].sort((a, b) => count(a) - count(b) || a - b);
  }
}
