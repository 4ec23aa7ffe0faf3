import { CpuSet } from '../cpuset/cpu-set.ts';
import type { MachineTopology } from './machine-topology.ts';

/** Location of a CPU. */
export interface CpuLocation {
  readonly cpu: number;
  readonly numaNode: number;
  readonly socket: number;
  /** Id of the core: its lowest CPU id, which is unique on the machine. */
  readonly core: number;
  /** Id of the uncore cache, or of the socket if the socket's CPUs share the cache. */
  readonly uncoreCache: number;
}

/** Level of the CPU topology by which CPUs are grouped. */
export type CpuLevel = Exclude<keyof CpuLocation, 'cpu'>;

/** Groups CPUs by their ids on a level of the topology. */
export type CpuGroups = ReadonlyMap<number, readonly CpuLocation[]>;

/**
 * Locations of the online CPUs (`CPUTopology`, `pkg/kubelet/cm/cpumanager/topology`). Sizes of cores, sockets and
 * caches are averages, as in upstream. On a machine with an offline CPU, a core with both threads therefore does not
 * count as free, and single CPUs are taken instead.
 */
export class CpuTopology {
  readonly cpus: CpuSet;
  readonly numaNodes: readonly number[];
  readonly socketCount: number;
  readonly cpusPerCore: number;
  readonly cpusPerSocket: number;
  readonly cpusPerUncoreCache: number;
  readonly #locations: ReadonlyMap<number, CpuLocation>;
  readonly #groups = new Map<CpuLevel, CpuGroups>();

  constructor({ nodes }: MachineTopology) {
    const locations = nodes.flatMap(({ id: numaNode, cores }) =>
      cores.flatMap(({ cpus, socketId: socket, uncoreCacheId: uncoreCache = socket }) =>
        cpus.map((cpu) => ({ cpu, numaNode, socket, core: Math.min(...cpus), uncoreCache })),
      ),
    );
    this.#locations = new Map(locations.map((location) => [location.cpu, location]));
    this.cpus = CpuSet.of(this.#locations.keys());
    const average = (parts: number): number => (parts === 0 ? 0 : Math.trunc(this.cpus.size / parts));
    this.numaNodes = [...this.groups('numaNode').keys()];
    this.socketCount = this.groups('socket').size;
    this.cpusPerCore = average(nodes.reduce((sum, { cores }) => sum + cores.length, 0));
    this.cpusPerSocket = average(this.socketCount);
    this.cpusPerUncoreCache = average(this.groups('uncoreCache').size);
  }

  locationOf(cpu: number): CpuLocation | undefined {
    return this.#locations.get(cpu);
  }

  /** Returns the locations of the known CPUs of a set, sorted by CPU. */
  locationsOf(cpus: Iterable<number>): readonly CpuLocation[] {
    return [...cpus].flatMap((cpu) => this.#locations.get(cpu) ?? []);
  }

  /** Returns all CPUs by their ids on a level, sorted by id. */
  groups(level: CpuLevel): CpuGroups {
    const known = this.#groups.get(level) ?? groupCpus(this.locationsOf(this.cpus), level);
    this.#groups.set(level, known);
    return known;
  }

  /** Returns all CPUs in the groups of a level that have these ids. */
  cpusIn(level: CpuLevel, ids: Iterable<number>): CpuSet {
    return CpuSet.of([...ids].flatMap((id) => (this.groups(level).get(id) ?? []).map(({ cpu }) => cpu)));
  }

  /** Returns whether all these CPUs share one uncore cache; true if there is at most one CPU. */
  sharesUncoreCache(cpus: CpuSet): boolean {
    if (cpus.size <= 1) return true;
    const locations = this.locationsOf(cpus);
    return locations.length === cpus.size && new Set(locations.map(({ uncoreCache }) => uncoreCache)).size === 1;
  }
}

/** Groups CPUs by their ids on a level, sorted by id. */
export function groupCpus(cpus: readonly CpuLocation[], level: CpuLevel): CpuGroups {
  const groups = new Map<number, CpuLocation[]>();
  for (const location of cpus) {
    const group = groups.get(location[level]);
    if (group === undefined) groups.set(location[level], [location]);
    else group.push(location);
  }
  return new Map([...groups].sort(([a], [b]) => a - b));
}
