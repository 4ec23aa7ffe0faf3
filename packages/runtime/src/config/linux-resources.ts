import type { Init, LinuxContainerResources } from '@node-agent/cri-client';
import { milliCpuToQuotaUs, milliCpuToShares } from '@node-agent/pod-spec';
import type { ResourceSettings } from './resource-settings.ts';

/** CPU and memory amounts of a sandbox or container. */
export interface ResourceAmounts {
  /** CPU request in millicores. If absent, the CPU limit counts as the request. */
  readonly cpuRequestMilli?: number | undefined;
  /** CPU limit in millicores; 0 means no limit. */
  readonly cpuLimitMilli: number;
  /** Memory limit in bytes; 0 means no limit. */
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
    // With `memory.oom.group`, an OOM kill ends all processes of the container. If only one process were killed, the
    // container would be left in an undefined state.
    unified: cgroupVersion === 2 && !singleProcessOomKill ? { 'memory.oom.group': '1' } : {},
  };
}
