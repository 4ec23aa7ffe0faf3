import type { Pod } from './api.ts';

/**
 * Returns the addresses of a pod, as its status and its containers show them: at most one per family. A pod on the
 * host's network has the node's addresses (`sortPodIPs`, `generateAPIPodStatus` of `pkg/kubelet/kubelet_pods.go`).
 * Upstream may show these addresses to containers in another order than in the status.
 * @param podIps addresses reported by the runtime
 * @param hostIps addresses of the node, the primary one first
 * @param family family of the pod's primary address. Default: 4.
 */
export function podAddresses(
  pod: Pod,
  podIps: readonly string[],
  hostIps: readonly string[],
  family?: 4 | 6,
): readonly string[] {
  if (pod.spec.hostNetwork && podIps.length === 0) return hostIps;
  const isV6First = family === 6;
  const first = [podIps.find((ip) => isV6(ip) === isV6First), podIps.find((ip) => isV6(ip) !== isV6First)];
  return first.filter((ip) => ip !== undefined);
}

function isV6(ip: string): boolean {
  return ip.includes(':');
}
