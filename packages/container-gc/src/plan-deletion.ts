import type { RuntimeContainerStatus, RuntimePodStatus } from '@node-agent/pod-spec';

/**
 * Returns the dead containers to remove after a container of the pod has exited: the dead containers of the same name,
 * or of all names if the ID is empty, except the newest `keep` (`getContainersToDeleteInPod`,
 * `pkg/kubelet/pod_container_deletor.go`). Returns no container if the pod has no container with that ID. The order is
 * by attempt number, because after the clock was set back the last attempt has the oldest time.
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
