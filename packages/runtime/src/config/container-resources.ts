import type { Init, LinuxContainerResources } from '@node-agent/cri-client';
import {
  type Container,
  type ContainerType,
  milliCpuToQuotaUs,
  milliCpuToShares,
  type Pod,
  parseResourceList,
  podLimits,
  podRequests,
  Quantity,
  sharesToMilliCpu,
} from '@node-agent/pod-spec';
import type { GroupResources } from '../resize/resize-steps.ts';
import { hugePageLimits } from './hugepages.ts';
import { linuxResources } from './linux-resources.ts';
import { memoryQosFiles } from './memory-qos.ts';
import { oomScoreAdjust } from './oom-score.ts';
import type { ResourceSettings } from './resource-settings.ts';
import { swapLimitBytes } from './swap.ts';

/**
 * Returns the cgroup values of a container (`generateLinuxContainerResources` upstream). If the container has no limit
 * of its own, the pod-level limit applies (KEP-2837).
 */
export function containerResources(
  pod: Pod,
  container: Container,
  type: ContainerType,
  settings: ResourceSettings,
  hasExclusiveCpus = false,
): Init<LinuxContainerResources> {
  const requests = parseResourceList(container.resources?.requests);
  const limits = parseResourceList(container.resources?.limits);
  const podLevel = parseResourceList(pod.spec.resources?.limits);
  const limit = (name: 'cpu' | 'memory'): Quantity => {
    const own = limits.get(name);
    return (own?.isZero === false ? own : podLevel.get(name)) ?? Quantity.zero;
  };
  const base = linuxResources(
    {
      cpuRequestMilli: milli(requests.get('cpu')),
      cpuLimitMilli: Number(limit('cpu').milliValue()),
      memoryLimitBytes: bytes(limit('memory')),
      hasExclusiveCpus,
    },
    settings,
  );
  const { cgroupVersion, swapControllerAvailable, memoryQos } = settings;
  const v2 = cgroupVersion === 2;
  return {
    ...base,
    oomScoreAdj: oomScoreAdjust(pod, container, type, settings.memoryCapacityBytes),
    hugepageLimits: hugePageLimits(pod, container, settings.hugePageSizes),
    unified: {
      ...base.unified,
      ...(v2 && swapControllerAvailable && { 'memory.swap.max': String(swapLimitBytes(pod, container, settings)) }),
      ...(v2 && memoryQos && memoryQosFiles(pod, container, memoryQos)),
    },
    // cgroup v1 counts memory and swap together, so a limit equal to the memory limit means no swap.
    ...(!v2 && swapControllerAvailable && { memorySwapLimitInBytes: base.memoryLimitInBytes }),
  };
}

/**
 * Returns the cgroup values of a pod at the creation of its sandbox: the total of its containers, and separately the
 * overhead.
 */
export function sandboxResources(
  pod: Pod,
  settings: ResourceSettings,
  hasExclusiveCpus = false,
): { readonly resources: Init<LinuxContainerResources>; readonly overhead: Init<LinuxContainerResources> } {
  const requests = podRequests(pod, { excludeOverhead: true });
  const limits = podLimits(pod, { excludeOverhead: true });
  const resources = linuxResources(
    {
      cpuRequestMilli: milli(requests.get('cpu')),
      cpuLimitMilli: milli(limits.get('cpu')) ?? 0,
      memoryLimitBytes: bytes(limits.get('memory')),
      hasExclusiveCpus,
    },
    settings,
  );
  return { resources, overhead: overheadResources(pod, settings) };
}

/**
 * Returns the cgroup values of a pod during a resize: the target values of its cgroup minus the overhead, and the
 * overhead itself. Upstream also subtracts the overhead from the number that means "no limit"
 * (`generateUpdatePodSandboxResourcesRequest`). A pod's cgroup has a limit only if each container has one. The result
 * contains only CPU and memory.
 */
export function resizedSandboxResources(
  pod: Pod,
  { cpuShares: shares, cpuQuotaUs: quotaUs = 0, cpuPeriodUs = 0, memoryBytes = 0 }: GroupResources,
  settings: ResourceSettings,
): { readonly resources: Init<LinuxContainerResources>; readonly overhead: Init<LinuxContainerResources> } {
  const overhead = parseResourceList(pod.spec.overhead);
  const cpuMilli = milli(overhead.get('cpu')) ?? 0;
  const less = (limit: number, part: number): number => (limit > 0 ? limit - part : limit);
  return {
    resources: {
      cpuPeriod: cpuPeriodUs,
      cpuQuota: less(quotaUs, milliCpuToQuotaUs(cpuMilli, cpuPeriodUs)),
      ...(shares !== undefined && {
        cpuShares: cpuMilli === 0 ? shares : milliCpuToShares(sharesToMilliCpu(shares) - cpuMilli),
      }),
      memoryLimitInBytes: less(memoryBytes, bytes(overhead.get('memory'))),
    },
    overhead: overheadResources(pod, settings),
  };
}

/** Returns the cgroup values for the overhead: both requested and limited to the overhead. */
function overheadResources({ spec }: Pod, settings: ResourceSettings): Init<LinuxContainerResources> {
  if (!spec.overhead) return {};
  const overhead = parseResourceList(spec.overhead);
  const cpuMilli = milli(overhead.get('cpu')) ?? 0;
  const memoryLimitBytes = bytes(overhead.get('memory'));
  return linuxResources({ cpuRequestMilli: cpuMilli, cpuLimitMilli: cpuMilli, memoryLimitBytes }, settings);
}

function milli(quantity: Quantity | undefined): number | undefined {
  return quantity && Number(quantity.milliValue());
}

function bytes(quantity: Quantity | undefined): number {
  return Number(quantity?.value() ?? 0);
}
