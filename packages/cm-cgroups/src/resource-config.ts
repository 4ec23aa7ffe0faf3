import type { HugePageLimits } from './huge-pages.ts';

/** What a group is held to; what is absent stays as it is. The values are those of cgroup v1, whatever the version. */
export interface ResourceConfig {
  /** CPU time in relation to others, 2 to 262144. */
  readonly cpuShares?: number;
  /** CPU time per period, in microseconds; -1 for no limit. */
  readonly cpuQuotaUs?: number;
  readonly cpuPeriodUs?: number;
  /** -1 for no limit. */
  readonly memoryBytes?: number;
  /** Swap alone, without memory; needs `memoryBytes` on cgroup v1, which counts both together. */
  readonly swapBytes?: number;
  /** Below 0 for no limit. */
  readonly pidsLimit?: number;
  /** By page size; each size of the machine that is not named is limited to 0. */
  readonly hugePageLimits?: HugePageLimits | 'unlimited';
  /** CPUs, as a list of numbers and ranges: `0-3,8`. */
  readonly cpus?: string;
  /** Whether an OOM kill takes all of the group (`memory.oom.group`); cgroup v2 only. */
  readonly oomGroup?: boolean;
  /** Files of cgroup v2 and their content, beside the others; left out on v1. */
  readonly unified?: Readonly<Record<string, string>>;
}

/** CPU and memory of a group as the kernel tells them, in the words of {@link ResourceConfig}: -1 is no limit. */
export interface GroupLimits {
  readonly cpuShares: number;
  readonly cpuQuotaUs: number;
  readonly cpuPeriodUs: number;
  readonly memoryBytes: number;
  /** What it used at that moment. */
  readonly memoryUsageBytes: number;
}
