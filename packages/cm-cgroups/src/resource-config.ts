import type { HugePageLimits } from './huge-pages.ts';

/** Limits of a cgroup; absent fields are not changed. Values have the units of cgroup v1, also on cgroup v2. */
export interface ResourceConfig {
  /** Relative CPU time, 2 to 262144. */
  readonly cpuShares?: number;
  /** CPU time per period, in microseconds; -1 for no limit. */
  readonly cpuQuotaUs?: number;
  readonly cpuPeriodUs?: number;
  /** Memory in bytes; -1 for no limit. */
  readonly memoryBytes?: number;
  /**
   * Swap without memory, in bytes. On cgroup v1, which limits memory and swap together, `memoryBytes` is required too.
   */
  readonly swapBytes?: number;
  /** Maximum number of processes; negative for no limit. */
  readonly pidsLimit?: number;
  /** Limits by page size; sizes of the machine that are not listed are limited to 0. */
  readonly hugePageLimits?: HugePageLimits | 'unlimited';
  /** CPUs as a list of numbers and ranges: `0-3,8`. */
  readonly cpus?: string;
  /** Whether an OOM kill kills the whole cgroup (`memory.oom.group`); cgroup v2 only. */
  readonly oomGroup?: boolean;
  /** Additional cgroup v2 files and their content; ignored on v1. */
  readonly unified?: Readonly<Record<string, string>>;
}

/** Current CPU and memory limits of a cgroup, in the units of {@link ResourceConfig}; -1 means no limit. */
export interface GroupLimits {
  readonly cpuShares: number;
  readonly cpuQuotaUs: number;
  readonly cpuPeriodUs: number;
  readonly memoryBytes: number;
  /** Memory usage at the time of the read, in bytes. */
  readonly memoryUsageBytes: number;
}
