import {
  type Container,
  isBackedByClaim,
  isHugePageResource,
  isNativeResource,
  oncePer,
  type Pod,
  parseResourceList,
  podRequests,
  type Quantity,
  type ResourceList,
  type ResourceListJson,
} from '@node-agent/pod-spec';
import type { TotalOf } from './total-held.ts';

/** A resource that is insufficient for a pod; CPU in millicores. */
export interface InsufficientResource {
  readonly resource: string;
  readonly requested: bigint;
  readonly used: bigint;
  readonly capacity: bigint;
}

/** Returns the requests of a pod. */
export type RequestsOf = (pod: Pod) => ResourceList;

/**
 * Returns a function that computes the requests of each pod once. Default of `extendedResourceClaims`: extended resources
 * that a ResourceClaim backs are left out.
 */
export function rememberedRequests({
  useStatusResources = false,
  extendedResourceClaims = true,
}: {
  readonly useStatusResources?: boolean;
  readonly extendedResourceClaims?: boolean;
} = {}): RequestsOf {
  const counted = extendedResourceClaims ? withoutClaimedResources : (pod: Pod) => pod;
  return oncePer((pod) => podRequests(counted(pod), { useStatusResources }));
}

/**
 * Returns the pod without requests for extended resources that a ResourceClaim backs, because the node's capacity does
 * not provide them (`removeMissingExtendedResources` in `pkg/kubelet/lifecycle/predicate.go`). Upstream leaves
 * these requests out only for the new pod, and counts those of the other pods as used.
 */
function withoutClaimedResources(pod: Pod): Pod {
  if (pod.status?.extendedResourceClaimStatus === undefined) return pod;
  const own = (container: Container): Container => {
    const requests = Object.entries(container.resources?.requests ?? {});
    const kept = requests.filter(([resource]) => !isBackedByClaim(pod, container.name, resource));
    return { ...container, resources: { ...container.resources, requests: Object.fromEntries(kept) } };
  };
  const { initContainers, containers } = pod.spec;
  return {
    ...pod,
    spec: {
      ...pod.spec,
      containers: containers.map(own),
      ...(initContainers && { initContainers: initContainers.map(own) }),
    },
  };
}

/**
 * Returns the resources that are insufficient for one more pod, the pod count first (`noderesources/fit.go`). Extended
 * resources that the node does not know are ignored: they may be managed by the cluster.
 * @param others the pods that hold resources of the node
 * @param totalOf returns the resources that the other pods hold; while a pod is being resized down, its former
 * resources
 */
export function insufficientResources(
  pod: Pod,
  others: readonly Pod[],
  allocatable: ResourceListJson,
  requestsOf: RequestsOf,
  totalOf: TotalOf,
): readonly InsufficientResource[] {
  const capacities = parseResourceList(allocatable);
  const places = capacities.get('pods')?.value() ?? 0n;
  const used = BigInt(others.length);
  const short: InsufficientResource[] = [];
  if (used + 1n > places) short.push({ resource: 'pods', requested: 1n, used, capacity: places });

  const requests = requestsOf(pod);
  const taken = totalOf(others);
  for (const resource of inOrder(requests.keys())) {
    if (isNativeResource(resource) ? !isCounted(resource) : !capacities.has(resource)) continue;
    const amount = (of: Quantity | undefined): bigint => (resource === 'cpu' ? of?.milliValue() : of?.value()) ?? 0n;
    const entry = {
      resource,
      requested: amount(requests.get(resource)),
      used: amount(taken.get(resource)),
      capacity: amount(capacities.get(resource)),
    };
    if (entry.requested > 0n && entry.requested > entry.capacity - entry.used) short.push(entry);
  }
  return short;
}

const FIRST = ['cpu', 'memory', 'ephemeral-storage'];

/** Returns whether a resource is a node resource. Other names without a slash are not node resources. */
function isCounted(name: string): boolean {
  return FIRST.includes(name) || isHugePageResource(name) || name.includes('/');
}

/** Returns the resources that every node has, whether or not they are requested, then all other resources by name. */
function inOrder(names: Iterable<string>): Iterable<string> {
  return new Set([...FIRST, ...[...names].sort()]);
}
