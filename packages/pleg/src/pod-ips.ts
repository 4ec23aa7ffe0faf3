import type { RuntimePodStatus } from '@node-agent/pod-spec';

/**
 * Returns the IPs of a pod's status. A terminated pod keeps its last known IPs after its sandbox has lost them, because
 * the API shows IPs of completed pods too. Source: `getPodIPs` of `pkg/kubelet/pleg/generic.go`.
 * @param known the cached status before this read
 */
export function podIps(status: RuntimePodStatus, known: RuntimePodStatus | undefined): readonly string[] {
  if (status.ips.length > 0) return status.ips;
  if (status.sandboxes.some((sandbox) => sandbox.state === 'ready')) return status.ips;
  return known?.ips ?? status.ips;
}
