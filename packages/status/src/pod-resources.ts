import {
  formatResourceList,
  MIN_CPU_SHARES,
  oncePer,
  type Pod,
  type PodStatus,
  parseQuantity,
  podLimits,
  podRequests,
  Quantity,
  type ResourceListJson,
  sharesToMilliCpu,
} from '@node-agent/pod-spec';

type PodResources = Pick<PodStatus, 'allocatedResources' | 'resources'>;

/** What the kernel holds a pod as a whole to; -1 is no limit. */
export interface PodGroupLimits {
  readonly cpuShares: number;
  readonly cpuQuotaUs: number;
  readonly cpuPeriodUs: number;
  readonly memoryBytes: number;
}

/** Thousandths of a CPU below which a limit is no other (`MinMilliCPULimit`). */
export const MIN_CPU_LIMIT_MILLI = 10;
/** Thousandths of a CPU below which a request is no other: upstream compares with the least shares. */
export const MIN_CPU_REQUEST_MILLI: number = MIN_CPU_SHARES;

/**
 * What is allocated to a pod as a whole, and what it is held to (KEP-5419; `convertToAPIPodLevelResourcesStatus` in
 * `pkg/kubelet/kubelet_pods.go`): while the API shows it as running, what the kernel says of its group; else, and where nothing is known of
 * a group, what its containers and itself ask for together.
 * @param pod as granted
 * @param limits of its group; absent where nothing is known of one
 * @param last what was told of a pod that has ended since: nothing of it changes any more, though its group is gone
 */
export function resourcesOf(pod: Pod, limits: PodGroupLimits | undefined, last?: PodStatus['resources']): PodResources {
  const allocated = allocatedResources(pod.spec);
  if (pod.status?.phase === 'Running' && limits !== undefined) {
    return { ...allocated, resources: enforced(pod, allocated, limits) };
  }
  return last === undefined ? allocated : { ...allocated, resources: last };
}

const allocatedResources = oncePer((spec: Pod['spec']): PodResources => {
  const requests = formatResourceList(podRequests({ spec }));
  const limits = formatResourceList(podLimits({ spec }));
  // Lists that are empty are left out, as upstream leaves them out.
  const requested = Object.keys(requests).length > 0;
  return {
    ...(requested && { allocatedResources: requests }),
    resources: {
      ...spec.resources,
      ...(requested && { requests }),
      ...(Object.keys(limits).length > 0 && { limits }),
    },
  };
});

function enforced(pod: Pod, allocated: PodResources, group: PodGroupLimits): NonNullable<PodResources['resources']> {
  const own = pod.spec.resources;
  const requests: Record<string, string> = { ...own?.requests };
  const limits: Record<string, string> = { ...own?.limits };
  const cpuRequest = sharesToMilliCpu(group.cpuShares);
  if (Math.max(cpuRequest, milli(requests.cpu)) > MIN_CPU_REQUEST_MILLI) {
    requests.cpu = Quantity.ofMilli(cpuRequest).toString();
  }
  const memoryRequest = allocated.allocatedResources?.memory;
  if (memoryRequest !== undefined) requests.memory = memoryRequest;
  const cpuLimit = Math.floor((group.cpuQuotaUs * 1000) / group.cpuPeriodUs);
  if (cpuLimit > 0 && Math.max(cpuLimit, milli(limits.cpu)) > MIN_CPU_LIMIT_MILLI) {
    limits.cpu = Quantity.ofMilli(cpuLimit).toString();
  }
  if (group.memoryBytes > 0) limits.memory = Quantity.of(group.memoryBytes, 'BinarySI').toString();
  return {
    ...own,
    ...(Object.keys(requests).length > 0 && { requests }),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
}

function milli(quantity: ResourceListJson[string] | undefined): number {
  return Number(parseQuantity(quantity ?? '0').milliValue());
}
