import {
  type Container,
  type CpuMemory,
  cpuMemory,
  limitsWithin,
  milliCpuToQuotaUs,
  milliCpuToShares,
  type Pod,
  Quantity,
  type ResourceRequirements,
  type RuntimeContainerResources,
} from '@node-agent/pod-spec';

/** Resizable resources last applied to pods and containers; persistent. Implemented by package `allocation`. */
export interface AppliedResources {
  appliedToContainer(uid: string, name: string): ResourceRequirements | undefined;
  appliedToPod(uid: string): ResourceRequirements | undefined;
  /** Records the resources that were applied to a container. Resolves when the record is on disk. */
  containerApplied(uid: string, name: string, resources: ResourceRequirements): Promise<void>;
  podApplied(uid: string, resources: ResourceRequirements): Promise<void>;
}

/**
 * Returns the resources with which a container is created: without its own limit, the pod's limit applies
 * (`setActuatedContainerResources`).
 */
export function resourcesToApply(pod: Pod, { resources = {} }: Pick<Container, 'resources'>): ResourceRequirements {
  const limits = limitsWithin(resources, pod.spec.resources);
  return { ...resources, ...(Object.keys(limits).length > 0 && { limits }) };
}

/** Returns the resources with CPU and memory replaced; zero values are omitted, other resources are kept. */
export function withCpuMemory(resources: ResourceRequirements | undefined, amounts: CpuMemory): ResourceRequirements {
  const list = (before: Readonly<Record<string, string>> | undefined, cpuMilli: number, memoryBytes: number) => {
    const { cpu: _cpu, memory: _memory, ...others } = before ?? {};
    return {
      ...others,
      ...(cpuMilli > 0 && { cpu: Quantity.ofMilli(cpuMilli).toString() }),
      ...(memoryBytes > 0 && { memory: Quantity.of(memoryBytes, 'BinarySI').toString() }),
    };
  };
  return {
    ...resources,
    limits: list(resources?.limits, amounts.cpuLimitMilli, amounts.memoryLimitBytes),
    requests: list(resources?.requests, amounts.cpuRequestMilli, amounts.memoryRequestBytes),
  };
}

/**
 * Returns the resources of a running container that another kubelet started, whose resources are therefore not
 * recorded. The runtime's values are returned if they differ from the desired ones, otherwise the desired ones.
 * Upstream assumes no resources, and so restarts the container if its resize policy requires a restart.
 */
export function adoptedResources(
  pod: Pod,
  container: Pick<Container, 'resources'>,
  reported: RuntimeContainerResources | undefined,
  periodUs: number,
): ResourceRequirements {
  const desired = cpuMemory(container.resources, pod.spec.resources);
  const { cpuRequestMilli: request, cpuLimitMilli: limit, memoryLimitBytes } = reported ?? {};
  // Requests and limits are compared after conversion to CPU shares and quotas, because the kernel's values are coarser
  // than millicores.
  const sameRequest = request === undefined || milliCpuToShares(request) === milliCpuToShares(desired.cpuRequestMilli);
  const sameLimit =
    limit === undefined || milliCpuToQuotaUs(limit, periodUs) === milliCpuToQuotaUs(desired.cpuLimitMilli, periodUs);
  return withCpuMemory(container.resources, {
    ...desired,
    ...(!sameRequest && { cpuRequestMilli: request }),
    ...(!sameLimit && { cpuLimitMilli: limit }),
    ...(memoryLimitBytes !== undefined && { memoryLimitBytes }),
  });
}
