import type { Pod, RuntimeContainerStatus, RuntimePod, RuntimePodStatus } from '@node-agent/pod-spec';

/** What may run of a pod, or come to run late, in the form that the runtime kills. */
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

/** A minimal Pod for one that only the runtime knows, so that events can refer to it. */
export function toApiPod(runningPod: RuntimePod): Pod {
  const { uid, name, namespace, containers } = runningPod;
  return {
    metadata: { uid, name, namespace },
    spec: { containers: containers.map((container) => ({ name: container.name, image: container.image })) },
  };
}

/**
 * The status after a pod was stopped, with what the runtime forgets when it stops: the addresses of the sandbox, and
 * containers that were removed in between.
 */
export function withDataFromBeforeStopping(stopped: RuntimePodStatus, before: RuntimePodStatus): RuntimePodStatus {
  const ips = stopped.ips.length > 0 ? stopped.ips : before.ips;
  return { ...stopped, ips };
}

/** The containers that still run though the pod was killed: the runtime broke its contract. */
export function stillRunning(status: RuntimePodStatus): readonly RuntimeContainerStatus[] {
  return status.containers.filter((container) => container.state === 'running');
}
