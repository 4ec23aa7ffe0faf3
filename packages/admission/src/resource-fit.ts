import {
  addResources,
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

/** A resource of which the node has not enough left for a pod; CPU in thousandths. */
export interface InsufficientResource {
  readonly resource: string;
  readonly requested: bigint;
  readonly used: bigint;
  readonly capacity: bigint;
}

/** What pods ask for. */
export type RequestsOf = (pod: Pod) => ResourceList;

export function rememberedRequests(options: { readonly useStatusResources?: boolean } = {}): RequestsOf {
  return oncePer((pod) => podRequests(pod, options));
}

/**
 * What the node has too little of for one more pod, the pod's own place first (`noderesources/fit.go`). Resources of
 * devices that the node does not know are not asked for: they may be the cluster's.
 * @param others those that hold resources of the node
 * @param heldBy what each of the others holds: while it is made smaller, what it had
 */
export function insufficientResources(
  pod: Pod,
  others: readonly Pod[],
  allocatable: ResourceListJson,
  requestsOf: RequestsOf,
  heldBy: RequestsOf = requestsOf,
): readonly InsufficientResource[] {
  const capacities = parseResourceList(allocatable);
  const places = capacities.get('pods')?.value() ?? 0n;
  const used = BigInt(others.length);
  const short: InsufficientResource[] = [];
  if (used + 1n > places) short.push({ resource: 'pods', requested: 1n, used, capacity: places });

  const requests = requestsOf(pod);
  const taken = addResources(...others.map(heldBy));
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

/** Other names without a slash are nothing that a node has. */
function isCounted(name: string): boolean {
  return FIRST.includes(name) || isHugePageResource(name) || name.includes('/');
}

/** Those that every node has, asked for or not, then the others by name. */
function inOrder(names: Iterable<string>): Iterable<string> {
  return new Set([...FIRST, ...[...names].sort()]);
}
