import type { DeviceIo, InterfaceFigures } from './kernel-text.ts';
import type { PsiStats } from './summary.ts';

/**
 * Amount of data to read from cgroups. `resource`: CPU time and memory only. `summary`: the data of `/stats/summary`.
 * `full`: the data of `/metrics/cadvisor`. `node`: as `summary`, but without pods and without queries to the runtime.
 */
export type Detail = 'resource' | 'node' | 'summary' | 'full';

/** Kernel counters of one cgroup at one time. Unknown values are absent. */
export interface GroupFigures {
  /** Path below the mount of the hierarchy: `/kubepods/burstable/pod1234`. */
  readonly path: string;
  /** Wall-clock time of the reading. */
  readonly atMs: number;
  /** Monotonic time of the reading, for rates. */
  readonly monotonicMs: number;
  /** Wall-clock creation time. */
  readonly createdAtMs?: number;
  readonly cpu?: CpuFigures;
  readonly memory?: MemoryFigures;
  readonly io?: IoFigures;
  readonly processes?: ProcessFigures;
  /** Interfaces of the network namespace of the cgroup's processes; only for sandboxes and the root. */
  readonly network?: readonly InterfaceFigures[];
}

export interface CpuFigures {
  readonly usageNs: number;
  readonly userNs?: number;
  readonly systemNs?: number;
  readonly periods?: number;
  readonly throttledPeriods?: number;
  readonly throttledNs?: number;
  readonly burstPeriods?: number;
  readonly burstNs?: number;
  readonly shares?: number;
  /** CPU quota per period, in microseconds; `Infinity` for no quota. */
  readonly quotaUs?: number;
  readonly periodUs?: number;
  readonly psi?: PsiStats;
}

export interface MemoryFigures {
  readonly usageBytes: number;
  readonly workingSetBytes: number;
  readonly rssBytes: number;
  readonly cacheBytes: number;
  readonly mappedFileBytes: number;
  readonly swapBytes: number;
  readonly activeFileBytes: number;
  readonly inactiveFileBytes: number;
  readonly pageFaults: number;
  readonly majorPageFaults: number;
  readonly kernelBytes?: number;
  readonly maxUsageBytes?: number;
  /** Number of times that the memory usage hit its limit. */
  readonly limitHits?: number;
  readonly oomKills?: number;
  /** Memory limit in bytes; `Infinity` for no limit. */
  readonly limitBytes?: number;
  /** Swap limit in bytes; `Infinity` for no limit. On cgroup v1, the limit of memory plus swap, as in cAdvisor. */
  readonly swapLimitBytes?: number;
  readonly reservationBytes?: number;
  readonly psi?: PsiStats;
}

interface IoFigures {
  readonly devices: readonly DeviceIo[];
  readonly psi?: PsiStats;
}

export interface ProcessFigures {
  /** Number of processes in the cgroup itself, without its descendants. */
  readonly processes: number;
  readonly threads?: number;
  /** Maximum number of threads; `Infinity` for no limit. */
  readonly maxThreads?: number;
  readonly openFiles?: number;
  readonly sockets?: number;
  /** Soft limit of open files of the first process; `Infinity` for no limit. */
  readonly maxOpenFiles?: number;
}

/** Returns the memory that cannot be reclaimed without harm: the usage minus inactive file pages. */
export function workingSet(usageBytes: number, inactiveFileBytes: number): number {
  return Math.max(0, usageBytes - inactiveFileBytes);
}
