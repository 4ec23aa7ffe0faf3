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

/** Limits of a pod's cgroup in the kernel; -1 means no limit. */
export interface PodGroupLimits {
  readonly cpuShares: number;
  readonly cpuQuotaUs: number;
  readonly cpuPeriodUs: number;
  readonly memoryBytes: number;
}

/** Smallest enforceable CPU limit in millicores (`MinMilliCPULimit`). */
export const MIN_CPU_LIMIT_MILLI = 10;
/**
 * Smallest CPU request in millicores that is distinguishable in the kernel: upstream compares with the minimum CPU
 * shares.
 */
export const MIN_CPU_REQUEST_MILLI: number = MIN_CPU_SHARES;

/**
 * Returns the allocated and actual resources of a pod as a whole (KEP-5419; `convertToAPIPodLevelResourcesStatus` in
 * `pkg/kubelet/kubelet_pods.go`). While the API shows the pod as Running, the actual resources are those of its cgroup.
 * Otherwise, or if no cgroup is known, they are the total of the pod's and its containers' requests and limits.
 * @param pod the pod with its allocated resources
 * @param limits limits of its cgroup; absent if no cgroup is known
 * @param last last reported resources of a terminated pod, which no longer change although its cgroup is gone
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
  // Empty lists are omitted, as upstream does.
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
