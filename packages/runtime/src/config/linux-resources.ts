import type { Init, LinuxContainerResources } from '@node-agent/cri-client';
import type { ResourceSettings } from './resource-settings.ts';

const MIN_SHARES = 2;
const MAX_SHARES = 262_144;
const MIN_QUOTA_US = 1000;

/** CPU time in relation to others: 1024 for a whole CPU, at least 2 (`pkg/kubelet/cm/helpers_linux.go`). */
export function cpuShares(cpuMilli: number): number {
  return Math.min(Math.max(Math.floor((cpuMilli * 1024) / 1000), MIN_SHARES), MAX_SHARES);
}

/** The CPU time that is meant by such a number: no less than it is made of (`SharesToMilliCPU`). */
export function cpuMilliOf(shares: number): number {
  return shares < MIN_SHARES ? 0 : Math.ceil((shares * 1000) / 1024);
}

/** CPU time per period, in microseconds, at least 1 ms; 0, which means no limit, for a limit of 0. */
export function cpuQuotaUs(cpuMilli: number, periodUs: number): number {
  return cpuMilli === 0 ? 0 : Math.max(Math.floor((cpuMilli * periodUs) / 1000), MIN_QUOTA_US);
}

/** What a sandbox or container asks of CPU and memory. */
export interface ResourceAmounts {
  /** Absent where nothing is requested: the limit counts as the request then. */
  readonly cpuRequestMilli?: number | undefined;
  /** 0 for none. */
  readonly cpuLimitMilli: number;
  /** 0 for none. */
  readonly memoryLimitBytes: number;
  /** Whether CPUs were given away whole: their use is not limited by time then. */
  readonly hasExclusiveCpus?: boolean | undefined;
}

/** The cgroup values for these amounts (`calculateLinuxResources` upstream). */
export function linuxResources(amounts: ResourceAmounts, settings: ResourceSettings): Init<LinuxContainerResources> {
  const { cpuLimitMilli, memoryLimitBytes } = amounts;
  const { cgroupVersion, cpuCfsQuota, cpuCfsQuotaPeriodUs, singleProcessOomKill } = settings;
  return {
    cpuShares: cpuShares(amounts.cpuRequestMilli ?? cpuLimitMilli),
    memoryLimitInBytes: memoryLimitBytes,
    ...(cpuCfsQuota && {
      cpuQuota: amounts.hasExclusiveCpus ? -1 : cpuQuotaUs(cpuLimitMilli, cpuCfsQuotaPeriodUs),
      cpuPeriod: cpuCfsQuotaPeriodUs,
    }),
    // One process of a container killed leaves the rest in a state that nobody asked for.
    unified: cgroupVersion === 2 && !singleProcessOomKill ? { 'memory.oom.group': '1' } : {},
  };
}
