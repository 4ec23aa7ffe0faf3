import type { Init, LinuxContainerResources } from '@node-agent/cri-client';
import type { Container, Pod } from '@node-agent/pod-spec';
import type { ContainerType } from './context.ts';
import { hugePageLimits } from './hugepages.ts';
import { linuxResources } from './linux-resources.ts';
import { memoryQosFiles } from './memory-qos.ts';
import { oomScoreAdjust } from './oom-score.ts';
import { podAmount } from './pending.ts';
import { milliValue, value } from './quantities.ts';
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
  const { requests, limits } = container.resources ?? {};
  const limit = (name: string): string => {
    const own = limits?.[name];
    return own !== undefined && milliValue(own) !== 0n ? own : (pod.spec.resources?.limits?.[name] ?? '0');
  };
  const base = linuxResources(
    {
      cpuRequestMilli: requests?.cpu === undefined ? undefined : Number(milliValue(requests.cpu)),
      cpuLimitMilli: Number(milliValue(limit('cpu'))),
      memoryLimitBytes: Number(value(limit('memory'))),
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
  const cpuRequest = podAmount(pod, 'requests', 'cpu');
  const resources = linuxResources(
    {
      cpuRequestMilli: cpuRequest === undefined ? undefined : Number(cpuRequest),
      cpuLimitMilli: Number(podAmount(pod, 'limits', 'cpu') ?? 0n),
      memoryLimitBytes: Number((podAmount(pod, 'limits', 'memory') ?? 0n) / 1000n),
      hasExclusiveCpus,
    },
    settings,
  );
  const { overhead } = pod.spec;
  if (!overhead) return { resources, overhead: {} };
  const cpuMilli = Number(milliValue(overhead.cpu ?? '0'));
  const memoryLimitBytes = Number(value(overhead.memory ?? '0'));
  const amounts = { cpuRequestMilli: cpuMilli, cpuLimitMilli: cpuMilli, memoryLimitBytes };
  return { resources, overhead: linuxResources(amounts, settings) };
}
