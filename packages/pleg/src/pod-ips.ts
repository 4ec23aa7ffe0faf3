import type { RuntimePodStatus } from '@node-agent/pod-spec';

/**
 * The addresses that a pod's status shows: those of an ended pod stay known when its sandbox has lost them, because the API shows them
 * for completed pods too. Source: `getPodIPs` of `pkg/kubelet/pleg/generic.go`.
 * @param known what the cache had before
 */
export function podIps(status: RuntimePodStatus, known: RuntimePodStatus | undefined): readonly string[] {
  if (status.ips.length > 0) return status.ips;
  if (status.sandboxes.some((sandbox) => sandbox.state === 'ready')) return status.ips;
  return known?.ips ?? status.ips;
}
