import type { Pod } from './api.ts';

/**
 * The addresses of a pod, as its status tells them and its containers are shown them: at most one of each family; of a pod on the host's
 * network, the node's (`sortPodIPs`, `generateAPIPodStatus` of `pkg/kubelet/kubelet_pods.go`). Upstream shows those to containers in
 * an order that may be another than the status's.
 * @param podIps as the runtime has them
 * @param hostIps the node's, the primary one first
 * @param family which comes first of a pod's own; 4 where absent
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
