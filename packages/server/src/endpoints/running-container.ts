import type { Pod, RuntimePod } from '@node-agent/pod-spec';

/** The ID of a sandbox or container in the runtime, or the message for the client if nothing suitable is running. */
export type Running = { readonly id: string } | { readonly id?: undefined; readonly message: string };

/** Finds the running containers and sandboxes of a pod in the runtime. */
export interface RunningPods {
  /** Returns the pods that have at least one running container or sandbox. */
  getRunningPods(signal: AbortSignal): Promise<readonly RuntimePod[]>;
  /**
   * Returns the pod of {@link getRunningPods} with this UID. If this method is absent, all pods are listed, which costs
   * more with each pod of the node.
   */
  getRunningPod?(uid: string, signal: AbortSignal): Promise<RuntimePod | undefined>;
}

/** Returns at least the given pod, if it runs. */
export async function runningPods(
  node: RunningPods,
  { metadata: { uid } }: Pod,
  signal: AbortSignal,
): Promise<readonly RuntimePod[]> {
  if (node.getRunningPod === undefined) return await node.getRunningPods(signal);
  const pod = await node.getRunningPod(uid, signal);
  return pod === undefined ? [] : [pod];
}

/**
 * Returns the running container with a name (`findContainer`, `pkg/kubelet/kubelet_pods.go`). If several containers
 * with that name are running, the newest is returned.
 */
export function runningContainer(pods: readonly RuntimePod[], { metadata: { uid } }: Pod, name: string): Running {
  const found = (pods.find((pod) => pod.uid === uid)?.containers ?? []).filter(
    (container) => container.name === name && container.state === 'running',
  );
  const newest = found.toSorted((a, b) => b.createdAtMs - a.createdAtMs)[0];
  return newest ? { id: newest.id } : { message: `container not found (${JSON.stringify(name)})` };
}

/** Returns the newest ready sandbox of a pod, whose network namespace has the pod's ports. */
export function readySandbox(pods: readonly RuntimePod[], { metadata: { name, namespace, uid } }: Pod): Running {
  const sandboxes = (pods.find((pod) => pod.uid === uid)?.sandboxes ?? []).filter(({ state }) => state === 'ready');
  const newest = sandboxes.toSorted((a, b) => b.attempt - a.attempt || b.createdAtMs - a.createdAtMs)[0];
  return newest ? { id: newest.id } : { message: `pod not found (${JSON.stringify(`${name}_${namespace}`)})` };
}
