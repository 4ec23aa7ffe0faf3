import type { Pod, RuntimePod } from '@node-agent/pod-spec';

/** Returns a v1 PodList, in the format of the endpoint `/pods` (`encodePods` in `pkg/kubelet/server/server.go`). */
export function podList(pods: readonly Pod[]): object {
  // Items of a list have neither `kind` nor `apiVersion`.
  const items = pods.map(({ metadata, spec, status }) => ({ metadata, spec, status: status ?? {} }));
  return { kind: 'PodList', apiVersion: 'v1', metadata: {}, items };
}

/**
 * Returns a v1 PodList of the running containers that the runtime knows (`ToAPIPod` in
 * `pkg/kubelet/container/runtime.go`). Exited containers are left out.
 */
export function runningPodList(pods: readonly RuntimePod[]): object {
  const items = pods.map(({ uid, name, namespace, containers }) => ({
    metadata: { name, namespace, uid },
    spec: {
      containers: containers
        .filter(({ state }) => state === 'running')
        .map((container) => ({ name: container.name, image: container.image, resources: {} })),
    },
    status: {},
  }));
  return { kind: 'PodList', apiVersion: 'v1', metadata: {}, items };
}
