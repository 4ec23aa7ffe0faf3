import type { Init, LinuxContainerResources } from '@node-agent/cri-client';
import { milliCpuToQuotaUs, milliCpuToShares } from '@node-agent/pod-spec';
import type { ResourceSettings } from './resource-settings.ts';

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
    cpuShares: milliCpuToShares(amounts.cpuRequestMilli ?? cpuLimitMilli),
    memoryLimitInBytes: memoryLimitBytes,
    ...(cpuCfsQuota && {
      cpuQuota: amounts.hasExclusiveCpus ? -1 : milliCpuToQuotaUs(cpuLimitMilli, cpuCfsQuotaPeriodUs),
      cpuPeriod: cpuCfsQuotaPeriodUs,
    }),
    // One process of a container killed leaves the rest in a state that nobody asked for.
    unified: cgroupVersion === 2 && !singleProcessOomKill ? { 'memory.oom.group': '1' } : {},
  };
}
