import type { Pod, RuntimePod } from '@node-agent/pod-spec';

/** A v1 PodList of pods, as `/pods` gives it (`encodePods` of `pkg/kubelet/server/server.go`). */
export function podList(pods: readonly Pod[]): object {
  // The items of a list do not repeat what they are.
  const items = pods.map(({ metadata, spec, status }) => ({ metadata, spec, status: status ?? {} }));
  return { kind: 'PodList', apiVersion: 'v1', metadata: {}, items };
}

/** A v1 PodList of what runs, as far as the runtime knows it (`ToAPIPod` of `pkg/kubelet/container/runtime.go`): of containers that have ended nothing. */
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
