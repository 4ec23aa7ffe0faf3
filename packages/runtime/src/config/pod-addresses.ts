import type { Pod } from '@node-agent/pod-spec';

/**
 * The addresses of a pod as its containers are shown them: at most one of each family, the family of the node's own first
 * address first (k/k#97979); of a pod on the host's network, the node's (`sortPodIPs`, `generateAPIPodStatus` of
 * `pkg/kubelet/kubelet_pods.go`).
 * @param podIps as the runtime has them
 * @param hostIps the node's, the primary one first
 */
export function podAddresses(pod: Pod, podIps: readonly string[], hostIps: readonly string[]): readonly string[] {
  const known = pod.spec.hostNetwork && podIps.length === 0 ? hostIps : podIps;
  const [primary] = hostIps;
  const isV6First = primary !== undefined && isV6(primary);
  const first = [known.find((ip) => isV6(ip) === isV6First), known.find((ip) => isV6(ip) !== isV6First)];
  return first.filter((ip) => ip !== undefined);
}

function isV6(ip: string): boolean {
  return ip.includes(':');
}
