import {
  MIN_CPU_SHARES,
  milliCpuToQuotaUs,
  milliCpuToShares,
  type Pod,
  parseResourceList,
  podLimits,
  podQosClass,
  podRequests,
  type Quantity,
} from '@node-agent/pod-spec';
import { hugePageLimits } from './huge-pages.ts';
import { type MemoryReservationPolicy, podMemoryProtection } from './memory-qos.ts';
import type { ResourceConfig } from './resource-config.ts';

/** How CPU limits are enforced. */
export interface PodLimitOptions {
  /** Whether they are enforced at all (`cpuCFSQuota`); true by default. */
  readonly cpuCfsQuota?: boolean;
  /** `cpuCFSQuotaPeriod`; 100,000 (100 ms) by default. */
  readonly cpuCfsQuotaPeriodUs?: number;
  /** How many processes a pod may have (`podPidsLimit`); as many as the node, where it is absent or not above 0. */
  readonly podPidsLimit?: number;
  /** What is done with the memory that pods request, on cgroup v2; nothing where it is absent: the gate `MemoryQoS` is off. */
  readonly memoryQos?: MemoryReservationPolicy;
}

/**
 * What a pod's group is held to (`ResourceConfigForPod` in `pkg/kubelet/cm/helpers_linux.go`): a CPU or memory limit only
 * where each container has one, or the pod as a whole.
 * @param pod as allocated
 * @throws PodSpecError `InvalidQuantity` for a pod that was not validated
 */
export function podResourceConfig(pod: Pod, options: PodLimitOptions = {}): ResourceConfig {
  const { cpuCfsQuota = true, cpuCfsQuotaPeriodUs = 100_000, podPidsLimit = 0 } = options;
  const requests = podRequests(pod);
  const limits = podLimits(pod);
  const cpuShares = milliCpuToShares(milli(requests.get('cpu')));
  const cpu = {
    cpuQuotaUs: cpuCfsQuota ? milliCpuToQuotaUs(milli(limits.get('cpu')), cpuCfsQuotaPeriodUs) : -1,
    cpuPeriodUs: cpuCfsQuotaPeriodUs,
  };
  const memory = { memoryBytes: Number(limits.get('memory')?.value() ?? 0n) };
  const always = {
    hugePageLimits: hugePageLimits(requests),
    ...(podPidsLimit > 0 && { pidsLimit: podPidsLimit }),
    ...podMemoryProtection(pod, options.memoryQos),
  };
  switch (podQosClass(pod)) {
    case 'Guaranteed':
      return { cpuShares, ...cpu, ...memory, ...always };
    case 'Burstable':
      return {
        cpuShares,
        ...(isLimited(pod, 'cpu') && cpu),
        ...(isLimited(pod, 'memory') && memory),
        ...always,
      };
    case 'BestEffort':
      return { cpuShares: MIN_CPU_SHARES, ...always };
  }
}

/** Init containers count, too: one without a limit runs in the same group. */
function isLimited({ spec }: Pod, resource: 'cpu' | 'memory'): boolean {
  if (isPositive(spec.resources?.limits, resource)) return true;
  const { containers, initContainers = [] } = spec;
  return [...containers, ...initContainers].every((container) => isPositive(container.resources?.limits, resource));
}

function isPositive(list: Readonly<Record<string, string>> | undefined, resource: string): boolean {
  return parseResourceList(list).get(resource)?.isZero === false;
}

function milli(quantity: Quantity | undefined): number {
  return Number(quantity?.milliValue() ?? 0n);
}
