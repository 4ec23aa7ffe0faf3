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

/** Options of pods' limits. */
export interface PodLimitOptions {
  /** Whether CPU limits are enforced (`cpuCFSQuota`). Default: true. */
  readonly cpuCfsQuota?: boolean;
  /** `cpuCFSQuotaPeriod`. Default: 100,000 (100 ms). */
  readonly cpuCfsQuotaPeriodUs?: number;
  /**
   * Maximum number of processes of a pod (`podPidsLimit`). If absent or not positive, only the node's limit applies.
   */
  readonly podPidsLimit?: number;
  /**
   * Protection of requested memory on cgroup v2. If absent, as with the feature gate `MemoryQoS` off, memory is not
   * protected.
   */
  readonly memoryQos?: MemoryReservationPolicy;
}

/**
 * Returns the limits of a pod's cgroup (`ResourceConfigForPod` in `pkg/kubelet/cm/helpers_linux.go`). CPU and memory
 * are limited only if each container, or the pod as a whole, has a limit.
 * @param pod the pod with its allocated resources
 * @throws PodSpecError `InvalidQuantity` if the pod was not validated
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

/**
 * Returns whether a pod has a limit for the resource: for the pod as a whole, or for each container. Init containers
 * count too, because they run in the same cgroup.
 */
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
