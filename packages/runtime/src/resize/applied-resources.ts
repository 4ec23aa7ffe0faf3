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

/** What pods and containers were last given, as far as it can change while they run; survives the process: package `allocation`. */
export interface AppliedResources {
  appliedToContainer(uid: string, name: string): ResourceRequirements | undefined;
  appliedToPod(uid: string): ResourceRequirements | undefined;
  /** Resolves when it is on disk. */
  containerApplied(uid: string, name: string, resources: ResourceRequirements): Promise<void>;
  podApplied(uid: string, resources: ResourceRequirements): Promise<void>;
}

/** A container's resources as it is created with them: where it has no limit, the pod's is its own (`setActuatedContainerResources`). */
export function resourcesToApply(pod: Pod, { resources = {} }: Pick<Container, 'resources'>): ResourceRequirements {
  const limits = limitsWithin(resources, pod.spec.resources);
  return { ...resources, ...(Object.keys(limits).length > 0 && { limits }) };
}

/** The resources with other CPU and memory; what is 0 is left out, and everything else stays. */
export function withCpuMemory(resources: ResourceRequirements | undefined, figures: CpuMemory): ResourceRequirements {
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
    limits: list(resources?.limits, figures.cpuLimitMilli, figures.memoryLimitBytes),
    requests: list(resources?.requests, figures.cpuRequestMilli, figures.memoryRequestBytes),
  };
}

/**
 * What a running container has that nothing is known of, as another kubelet made it: what its runtime says where that differs from
 * what is wanted, and the wanted where it says nothing. Upstream takes it for nothing at all, and so restarts it where a resize asks for that.
 */
export function adoptedResources(
  pod: Pod,
  container: Pick<Container, 'resources'>,
  told: RuntimeContainerResources | undefined,
  periodUs: number,
): ResourceRequirements {
  const wanted = cpuMemory(container.resources, pod.spec.resources);
  const { cpuRequestMilli: request, cpuLimitMilli: limit, memoryLimitBytes } = told ?? {};
  // The kernel knows neither a request nor a limit to the thousandth.
  const sameRequest = request === undefined || milliCpuToShares(request) === milliCpuToShares(wanted.cpuRequestMilli);
  const sameLimit =
    limit === undefined || milliCpuToQuotaUs(limit, periodUs) === milliCpuToQuotaUs(wanted.cpuLimitMilli, periodUs);
  return withCpuMemory(container.resources, {
    ...wanted,
    ...(!sameRequest && { cpuRequestMilli: request }),
    ...(!sameLimit && { cpuLimitMilli: limit }),
    ...(memoryLimitBytes !== undefined && { memoryLimitBytes }),
  });
}
