import type { Pod } from './api.ts';
import { type AnyContainer, isRestartableInit } from './containers.ts';
import type { Quantity } from './quantity.ts';
import {
  addResources,
  isPodLevelResource,
  maxResources,
  parseResourceList,
  type ResourceList,
} from './resource-list.ts';

/** What {@link podRequests} and {@link podLimits} take into account. */
export interface PodResourcesOptions {
  /** Leaves `spec.overhead` out; false by default. */
  readonly excludeOverhead?: boolean;
  /** Leaves `spec.resources` out, so that the containers alone count; false by default. */
  readonly skipPodLevelResources?: boolean;
  /**
   * What a container asks for in place of its spec's own, for instance what is allocated to it while it is resized.
   * `undefined` stands for its spec's own.
   */
  readonly override?: (container: AnyContainer) => ResourceList | undefined;
}

type Side = 'requests' | 'limits';

/**
 * What a pod asks for in effect: the greater of its main containers and sidecars together, and of each init container
 * with the sidecars before it (KEP-753); what the pod asks for as a whole in place of that (KEP-2837); and its overhead
 * (KEP-688). As `PodRequests` of k8s.io/component-helpers/resource.
 * @throws PodSpecError `InvalidQuantity` for a pod that was not validated
 */
export function podRequests(pod: Pick<Pod, 'spec'>, options: PodResourcesOptions = {}): ResourceList {
  const requests = withPodLevel(pod, 'requests', containersTotal(pod, 'requests', options.override), options);
  return options.excludeOverhead ? requests : addResources(requests, parseResourceList(pod.spec.overhead));
}

/**
 * What a pod is held to in effect, as {@link podRequests}; overhead is added only to what is limited. A resource that
 * one container leaves unlimited is in the sum of the others all the same.
 * @throws PodSpecError `InvalidQuantity` for a pod that was not validated
 */
export function podLimits(pod: Pick<Pod, 'spec'>, options: PodResourcesOptions = {}): ResourceList {
  const limits = withPodLevel(pod, 'limits', containersTotal(pod, 'limits', options.override), options);
  if (options.excludeOverhead) return limits;
  const overhead = [...parseResourceList(pod.spec.overhead)].filter(([name]) => limits.get(name)?.isZero === false);
  return addResources(limits, new Map(overhead));
}

/**
 * The containers' part of {@link podRequests} or {@link podLimits}: no overhead, nothing of the pod as a whole
 * (`AggregateContainerRequests`, `AggregateContainerLimits`).
 */
export function containersTotal(
  pod: Pick<Pod, 'spec'>,
  side: Side,
  override?: PodResourcesOptions['override'],
): Map<string, Quantity> {
  const of = (container: AnyContainer): ResourceList =>
    override?.(container) ?? parseResourceList(container.resources?.[side]);
  let running = addResources(...pod.spec.containers.map(of));
  let sidecars: ResourceList = new Map();
  let peak: ResourceList = new Map();
  for (const container of pod.spec.initContainers ?? []) {
    const own = of(container);
    const together = addResources(sidecars, own);
    if (isRestartableInit(container)) {
      running = addResources(running, own);
      sidecars = together;
    }
    peak = maxResources(peak, together);
  }
  return maxResources(running, peak);
}

/** Whether the pod asks for resources as a whole (KEP-2837). */
export function hasPodLevelResources(pod: Pick<Pod, 'spec'>): boolean {
  const { requests, limits } = pod.spec.resources ?? {};
  return [...Object.keys(requests ?? {}), ...Object.keys(limits ?? {})].some(isPodLevelResource);
}

function withPodLevel(
  pod: Pick<Pod, 'spec'>,
  side: Side,
  containers: ResourceList,
  options: PodResourcesOptions,
): ResourceList {
  if (options.skipPodLevelResources) return containers;
  const own = parseResourceList(pod.spec.resources?.[side]);
  return new Map([...containers, ...[...own].filter(([name]) => isPodLevelResource(name))]);
}
