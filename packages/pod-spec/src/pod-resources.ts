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

/** Options of {@link podRequests} and {@link podLimits}. */
export interface PodResourcesOptions {
  /** Whether `spec.overhead` is ignored. Default: false. */
  readonly excludeOverhead?: boolean;
  /** Whether `spec.resources` is ignored, so that only the containers count. Default: false. */
  readonly skipPodLevelResources?: boolean;
  /**
   * Returns the resources to use for a container instead of its spec, for example its allocated resources during a
   * resize. `undefined` means the spec's resources.
   */
  readonly override?: (container: AnyContainer) => ResourceList | undefined;
  /**
   * Whether the requests according to the pod's status count, too. Each main container and sidecar, and the pod as a
   * whole, then counts with the largest of its spec, its allocated and its actual requests. During a resize, the old
   * resources count until the new ones are in effect (KEP-1287). Affects only requests. Default: false.
   */
  readonly useStatusResources?: boolean;
}

type Side = 'requests' | 'limits';

/**
 * Returns the effective requests of a pod: the larger of the sum of its main containers and sidecars, and of each init
 * container with the sidecars before it (KEP-753). Pod-level requests replace this amount (KEP-2837), and the overhead
 * is added (KEP-688). Equals `PodRequests` of k8s.io/component-helpers/resource.
 * @throws PodSpecError `InvalidQuantity` if the pod was not validated
 */
export function podRequests(pod: Pick<Pod, 'spec' | 'status'>, options: PodResourcesOptions = {}): ResourceList {
  const ofStatus = options.useStatusResources === true ? heldByContainers(pod) : undefined;
  const override = (container: AnyContainer): ResourceList | undefined =>
    options.override?.(container) ?? ofStatus?.get(container.name);
  const requests = withPodLevel(pod, 'requests', containersTotal(pod, 'requests', override), options);
  return options.excludeOverhead ? requests : addResources(requests, parseResourceList(pod.spec.overhead));
}

/**
 * Returns the effective limits of a pod, computed like {@link podRequests}. The overhead is added only to resources
 * that have a limit. If a container has no limit for a resource, the limits of the other containers are still summed.
 * @throws PodSpecError `InvalidQuantity` if the pod was not validated
 */
export function podLimits(pod: Pick<Pod, 'spec'>, options: PodResourcesOptions = {}): ResourceList {
  const limits = withPodLevel(pod, 'limits', containersTotal(pod, 'limits', options.override), options);
  if (options.excludeOverhead) return limits;
  const overhead = [...parseResourceList(pod.spec.overhead)].filter(([name]) => limits.get(name)?.isZero === false);
  return addResources(limits, new Map(overhead));
}

/**
 * Returns the containers' part of {@link podRequests} or {@link podLimits}, without overhead and pod-level resources
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
    // For resources that this container does not request, the total is the same as after the last sidecar.
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

/** Returns whether the pod has pod-level resources (KEP-2837). */
export function hasPodLevelResources(pod: Pick<Pod, 'spec'>): boolean {
  const { requests, limits } = pod.spec.resources ?? {};
  return [...Object.keys(requests ?? {}), ...Object.keys(limits ?? {})].some(isPodLevelResource);
}

/**
 * Returns by container name the resources held according to the pod's status. Init containers other than sidecars hold
 * the resources of their spec.
 */
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

/**
 * Returns the largest of the requested, allocated and actual resources. An infeasible resize does not count as a
 * request.
 */
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
