import type { RuntimeContainerStatus, RuntimePodStatus } from '@node-agent/pod-spec';

/**
 * Which dead containers of a pod go once one of them has died: those with its name, or all where no id is given, but
 * the newest `keep` (`getContainersToDeleteInPod`, `pkg/kubelet/pod_container_deletor.go`). None where the id is of no
 * container of the pod. The newest by their numbers: a clock that was set back makes the last one seem the oldest.
 */
export function planDeletion(
  status: RuntimePodStatus,
  exitedContainerId: string,
  keep: number,
): readonly RuntimeContainerStatus[] {
  const name = status.containers.find(({ id }) => id === exitedContainerId)?.name;
  if (exitedContainerId !== '' && name === undefined) return [];
  return status.containers
    .filter((container) => container.state === 'exited' && (name === undefined || container.name === name))
    .sort((a, b) => b.restartCount - a.restartCount || b.createdAtMs - a.createdAtMs)
    .slice(keep);
}
