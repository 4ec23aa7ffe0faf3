import type { Init, LinuxContainerResources } from '@node-agent/cri-client';
import { milliCpuToQuotaUs, milliCpuToShares } from '@node-agent/pod-spec';
import type { ResourceSettings } from './resource-settings.ts';

/** CPU and memory amounts of a sandbox or container. */
export interface ResourceAmounts {
  /** If absent, the limit counts as the request. */
  readonly cpuRequestMilli?: number | undefined;
  /** 0 means no limit. */
  readonly cpuLimitMilli: number;
  /** 0 means no limit. */
  readonly memoryLimitBytes: number;
  /** Whether the container has exclusive CPUs; there is then no CPU quota. */
  readonly hasExclusiveCpus?: boolean | undefined;
}

/** Returns the cgroup values for these amounts (`calculateLinuxResources` upstream). */
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
    // Killing a single process would leave the container in an undefined state.
    unified: cgroupVersion === 2 && !singleProcessOomKill ? { 'memory.oom.group': '1' } : {},
  };
}
