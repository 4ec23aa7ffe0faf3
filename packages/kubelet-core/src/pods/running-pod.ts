import type { Pod, RuntimeContainerStatus, RuntimePod, RuntimePodStatus } from '@node-agent/pod-spec';

/**
 * Returns the containers and sandboxes of a pod that run or may still start, in the form in which the runtime kills
 * them.
 */
export function toRunningPod(pod: Pod, status: RuntimePodStatus): RuntimePod {
  const containers = status.containers.filter(({ state }) => state !== 'exited');
  return {
    uid: pod.metadata.uid,
    name: pod.metadata.name,
    namespace: pod.metadata.namespace,
    createdAtMs: Math.min(...[...status.sandboxes, ...status.containers].map((part) => part.createdAtMs), Infinity),
    containers,
    sandboxes: status.sandboxes,
  };
}

/** Returns a minimal Pod for a pod that only the runtime knows, so that events can refer to it. */
export function toApiPod(runningPod: RuntimePod): Pod {
  const { uid, name, namespace, containers } = runningPod;
  return {
    metadata: { uid, name, namespace },
    spec: { containers: containers.map((container) => ({ name: container.name, image: container.image })) },
  };
}

/**
 * Returns the status after a pod was stopped, with the IP addresses from before: the runtime forgets the addresses when
 * it stops the sandbox.
 */
export function withDataFromBeforeStopping(stopped: RuntimePodStatus, before: RuntimePodStatus): RuntimePodStatus {
  const ips = stopped.ips.length > 0 ? stopped.ips : before.ips;
  return { ...stopped, ips };
}

/** Returns the containers that still run although the pod was killed, which violates the runtime's contract. */
export function stillRunning(status: RuntimePodStatus): readonly RuntimeContainerStatus[] {
  return status.containers.filter((container) => container.state === 'running');
}

/** Returns whether the runtime has neither a container nor a sandbox of the pod. */
export function isAbsent({ containers, sandboxes }: RuntimePodStatus): boolean {
  return containers.length === 0 && sandboxes.length === 0;
}
