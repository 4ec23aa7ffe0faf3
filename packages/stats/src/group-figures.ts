import type { DeviceIo, InterfaceFigures } from './kernel-text.ts';
import type { PsiStats } from './summary.ts';

/**
 * How much is read of groups: `resource` is CPU time and memory alone, `summary` what `/stats/summary` shows, `full` what
 * `/metrics/cadvisor` does; `node` is `summary` without pods, nor the runtime asked for them.
 */
export type Detail = 'resource' | 'node' | 'summary' | 'full';

/** What the kernel counts of one group of processes, at one instant. What it did not tell is absent. */
export interface GroupFigures {
  /** Below the mount of its hierarchy: `/kubepods/burstable/pod1234`. */
  readonly path: string;
  /** When this was read, by the wall clock. */
  readonly atMs: number;
  /** The same by the monotonic clock, for rates. */
  readonly monotonicMs: number;
  /** By the wall clock. */
  readonly createdAtMs?: number;
  readonly cpu?: CpuFigures;
  readonly memory?: MemoryFigures;
  readonly io?: IoFigures;
  readonly processes?: ProcessFigures;
  /** Of the network namespace of the group's processes; of sandboxes and of the root alone. */
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
  /** `Infinity`: none. */
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
  /** How often the limit was hit. */
  readonly limitHits?: number;
  readonly oomKills?: number;
  /** `Infinity`: none. */
  readonly limitBytes?: number;
  /** Of swap alone with cgroup v2, of memory and swap together with v1, as cAdvisor has it. `Infinity`: none. */
  readonly swapLimitBytes?: number;
  readonly reservationBytes?: number;
  readonly psi?: PsiStats;
}

interface IoFigures {
  readonly devices: readonly DeviceIo[];
  readonly psi?: PsiStats;
}

export interface ProcessFigures {
  /** Of the group itself, without those below it. */
  readonly processes: number;
  readonly threads?: number;
  /** `Infinity`: none. */
  readonly maxThreads?: number;
  readonly openFiles?: number;
  readonly sockets?: number;
  /** The soft limit of open files of its first process; `Infinity`: none. */
  readonly maxOpenFiles?: number;
}

/** The use of memory that cannot be taken back without harm: without the inactive pages of files. */
export function workingSet(usageBytes: number, inactiveFileBytes: number): number {
  return Math.max(0, usageBytes - inactiveFileBytes);
}
