import type { Pod, PodStatus } from '@node-agent/pod-spec';

/**
 * Returns a pod with the kubelet's own status. The names of the pod's ResourceClaims are kept: the scheduler and a
 * controller write them before the pod is bound, and the kubelet's status does not contain them.
 */
export function withStatus(pod: Pod, status: PodStatus): Pod {
  const { resourceClaimStatuses, extendedResourceClaimStatus } = pod.status ?? {};
  if (resourceClaimStatuses === undefined && extendedResourceClaimStatus === undefined) return { ...pod, status };
  const claims = {
    ...(resourceClaimStatuses && { resourceClaimStatuses }),
    ...(extendedResourceClaimStatus && { extendedResourceClaimStatus }),
  };
  return { ...pod, status: { ...status, ...claims } };
}
