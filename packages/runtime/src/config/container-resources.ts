import type { Init, LinuxContainerResources } from '@node-agent/cri-client';
import {
  type Container,
  type ContainerType,
  type Pod,
  parseResourceList,
  podLimits,
  podRequests,
  Quantity,
} from '@node-agent/pod-spec';
import { hugePageLimits } from './hugepages.ts';
import { linuxResources } from './linux-resources.ts';
import { memoryQosFiles } from './memory-qos.ts';
import { oomScoreAdjust } from './oom-score.ts';
import type { ResourceSettings } from './resource-settings.ts';
import { swapLimitBytes } from './swap.ts';

/**
 * The cgroup values of a container (`generateLinuxContainerResources` upstream). Where it sets no limit of its own, the
 * pod's limit holds (KEP-2837).
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
    // cgroup v1 counts memory and swap together: nothing above the memory limit is no swap.
    ...(!v2 && swapControllerAvailable && { memorySwapLimitInBytes: base.memoryLimitInBytes }),
  };
}

/** The cgroup values of a pod as its sandbox is told them: what its containers sum up to, and the overhead apart. */
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
  if (!pod.spec.overhead) return { resources, overhead: {} };
  const overhead = parseResourceList(pod.spec.overhead);
  const cpuMilli = milli(overhead.get('cpu')) ?? 0;
  const amounts = {
    cpuRequestMilli: cpuMilli,
    cpuLimitMilli: cpuMilli,
    memoryLimitBytes: bytes(overhead.get('memory')),
  };
  return { resources, overhead: linuxResources(amounts, settings) };
}

function milli(quantity: Quantity | undefined): number | undefined {
  return quantity && Number(quantity.milliValue());
}

function bytes(quantity: Quantity | undefined): number {
  return Number(quantity?.value() ?? 0);
}
