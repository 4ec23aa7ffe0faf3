import type { Pod } from './api.ts';
import { type AnyContainer, isRestartableInit } from './containers.ts';
import type { Quantity } from './quantity.ts';
import {
  addResources,
  isPodLevelResource,
  maxResources,
  parseResourceList,
  type ResourceList,
  type ResourceListJson,
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
  /**
   * Counts of a main container or sidecar, and of the pod as a whole, the greatest of what is asked for, was allocated and is in force,
   * as the pod's status tells: what is resized holds the one until it has the other (KEP-1287). Of requests only; false by default.
   */
  readonly useStatusResources?: boolean;
}

type Side = 'requests' | 'limits';

/**
 * What a pod asks for in effect: the greater of its main containers and sidecars together, and of each init container
 * with the sidecars before it (KEP-753); what the pod asks for as a whole in place of that (KEP-2837); and its overhead
 * (KEP-688). As `PodRequests` of k8s.io/component-helpers/resource.
 * @throws PodSpecError `InvalidQuantity` for a pod that was not validated
 */
export function podRequests(pod: Pick<Pod, 'spec' | 'status'>, options: PodResourcesOptions = {}): ResourceList {
  const ofStatus = options.useStatusResources === true ? heldByContainers(pod) : undefined;
  const override = (container: AnyContainer): ResourceList | undefined =>
    options.override?.(container) ?? ofStatus?.get(container.name);
  const requests = withPodLevel(pod, 'requests', containersTotal(pod, 'requests', override), options);
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
  const running = addResources(...pod.spec.containers.map(of));
  const sidecars = new Map<string, Quantity>();
  const peak = new Map<string, Quantity>();
  for (const container of pod.spec.initContainers ?? []) {
    // Of what it does not ask for there is no more than when the last sidecar had come.
    for (const [name, own] of of(container)) {
      const together = sidecars.get(name)?.add(own) ?? own;
      if (isRestartableInit(container)) {
        running.set(name, running.get(name)?.add(own) ?? own);
        sidecars.set(name, together);
      }
      const before = peak.get(name);
      if (before === undefined || together.compare(before) > 0) peak.set(name, together);
    }
  }
  return maxResources(running, peak);
}

/** Whether the pod asks for resources as a whole (KEP-2837). */
export function hasPodLevelResources(pod: Pick<Pod, 'spec'>): boolean {
  const { requests, limits } = pod.spec.resources ?? {};
  return [...Object.keys(requests ?? {}), ...Object.keys(limits ?? {})].some(isPodLevelResource);
}

/** What containers hold whose status tells of it, by name; init containers that are no sidecars hold what they ask for. */
function heldByContainers(pod: Pick<Pod, 'spec' | 'status'>): ReadonlyMap<string, ResourceList> {
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  const statuses = new Map([...containerStatuses, ...initContainerStatuses].map((status) => [status.name, status]));
  const { containers, initContainers = [] } = pod.spec;
  return new Map(
    [...containers, ...initContainers.filter(isRestartableInit)].flatMap(({ name, resources }) => {
      const status = statuses.get(name);
      if (status?.resources == null) return [];
      const { requests: actuated } = status.resources;
      return [[name, effectiveRequests(pod, resources?.requests, actuated, status.allocatedResources)] as const];
    }),
  );
}

/** What is asked for in vain holds nothing. */
function effectiveRequests(
  { status }: Pick<Pod, 'status'>,
  asked: ResourceListJson | undefined,
  actuated: ResourceListJson | undefined,
  allocated: ResourceListJson | undefined,
): ResourceList {
  const pending = status?.conditions?.find(({ type }) => type === 'PodResizePending');
  const known = [actuated, allocated].map(parseResourceList);
  return maxResources(...(pending?.reason === 'Infeasible' ? known : [parseResourceList(asked), ...known]));
}

function withPodLevel(
  pod: Pick<Pod, 'spec' | 'status'>,
  side: Side,
  containers: ResourceList,
  options: PodResourcesOptions,
): ResourceList {
  if (options.skipPodLevelResources) return containers;
  const asked = pod.spec.resources?.[side];
  const { resources: actuated, allocatedResources } = pod.status ?? {};
  const own =
    options.useStatusResources === true && asked !== undefined && actuated != null
      ? effectiveRequests(pod, asked, actuated[side], allocatedResources)
      : parseResourceList(asked);
  return new Map([
    ...containers,
    ...[...own].filter(([name]) => isPodLevelResource(name) && asked?.[name] !== undefined),
  ]);
}
