import type { ContainerStatus, Pod } from '@node-agent/pod-spec';

/** The ID of a container (as in a pod status) whose log is available, or the reason for which no log is available. */
export type LogContainer = { readonly id: string } | { readonly id?: undefined; readonly problem: string };

/**
 * Returns which instance of a container has the requested log (`validateContainerLogStatus`,
 * `pkg/kubelet/kubelet_pods.go`).
 */
export function logContainer({ metadata, status }: Pod, name: string, previous: boolean): LogContainer {
  const what = `container ${JSON.stringify(name)} in pod ${JSON.stringify(metadata.name)}`;
  const container = statusOf(status, name);
  if (container === undefined) return { problem: `${what} is not available` };
  const { waiting, running, terminated } = container.state ?? {};
  const last = container.lastState?.terminated;
  const found = (id: string | undefined, problem: string): LogContainer => (id ? { id } : { problem });

  if (previous) return found(last?.containerID, `previous terminated ${what} not found`);
  if (running) return found(container.containerID, `${what} is not available`);
  // A container that failed to restart has no ID. The log of its previous instance may show the reason of the failure.
  if (terminated) return found(terminated.containerID || last?.containerID, `${what} is terminated`);
  if (last) return found(last.containerID, `${what} is terminated`);
  if (waiting?.reason === 'ErrImagePull') return { problem: `${what} is waiting to start: image can't be pulled` };
  if (waiting?.reason === 'ImagePullBackOff') {
    return { problem: `${what} is waiting to start: trying and failing to pull image` };
  }
  return { problem: `${what} is waiting to start${waiting ? `: ${waiting.reason ?? ''}` : ' - no logs yet'}` };
}

function statusOf(status: Pod['status'], name: string): ContainerStatus | undefined {
  const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = status ?? {};
  return [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses].find(
    (container) => container.name === name,
  );
}
