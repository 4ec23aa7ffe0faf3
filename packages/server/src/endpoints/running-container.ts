import type { Pod, RuntimePod } from '@node-agent/pod-spec';

/** Which pod or container of the runtime is meant, or the words that refuse it. */
export type Running = { readonly id: string } | { readonly id?: undefined; readonly message: string };

/** The container of a pod that runs under a name (`findContainer`, `pkg/kubelet/kubelet_pods.go`): the newest where it is started anew. */
export function runningContainer(pods: readonly RuntimePod[], { metadata: { uid } }: Pod, name: string): Running {
  const found = (pods.find((pod) => pod.uid === uid)?.containers ?? []).filter(
    (container) => container.name === name && container.state === 'running',
  );
  const newest = found.toSorted((a, b) => b.createdAtMs - a.createdAtMs)[0];
  return newest ? { id: newest.id } : { message: `container not found (${JSON.stringify(name)})` };
}

/** The sandbox of a pod in whose network its ports are: the newest that is ready. */
export function readySandbox(pods: readonly RuntimePod[], { metadata: { name, namespace, uid } }: Pod): Running {
  const sandboxes = (pods.find((pod) => pod.uid === uid)?.sandboxes ?? []).filter(({ state }) => state === 'ready');
  const newest = sandboxes.toSorted((a, b) => b.attempt - a.attempt || b.createdAtMs - a.createdAtMs)[0];
  return newest ? { id: newest.id } : { message: `pod not found (${JSON.stringify(`${name}_${namespace}`)})` };
}
