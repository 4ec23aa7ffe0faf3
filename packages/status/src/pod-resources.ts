import { formatResourceList, type Pod, type PodStatus, podLimits, podRequests } from '@node-agent/pod-spec';

type PodResources = Pick<PodStatus, 'allocatedResources' | 'resources'>;

const known = new WeakMap<Pod['spec'], PodResources>();

/**
 * What is allocated to a pod as a whole, and what it is held to (KEP-5419): of its containers together, and of the pod
 * itself where it asks. Computed once for each spec.
 */
export function resourcesOf(pod: Pod): PodResources {
  const before = known.get(pod.spec);
  if (before !== undefined) return before;
  const requests = formatResourceList(podRequests(pod));
  const limits = formatResourceList(podLimits(pod));
  // Lists that are empty are left out, as upstream leaves them out.
  const requested = Object.keys(requests).length > 0;
  const resources: PodResources = {
    ...(requested && { allocatedResources: requests }),
    resources: {
      ...pod.spec.resources,
      ...(requested && { requests }),
      ...(Object.keys(limits).length > 0 && { limits }),
    },
  };
  known.set(pod.spec, resources);
  return resources;
}
