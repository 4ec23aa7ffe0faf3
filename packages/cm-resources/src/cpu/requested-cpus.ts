import {
  type Container,
  hasPodLevelResources,
  isRestartableInit,
  type Pod,
  parseQuantity,
  podQosClass,
} from '@node-agent/pod-spec';

/**
 * Returns the number of exclusive CPUs that a container gets: its CPU request, if its pod is Guaranteed and the request
 * is a whole number; otherwise 0 (`guaranteedCPUs`, `pkg/kubelet/cm/cpumanager/policy_static.go`). Containers of pods
 * with pod-level resources get none, because the gate PodLevelResourceManagers is off.
 */
export function exclusiveCpusOf(pod: Pod, container: Container): number {
  if (podQosClass(pod) !== 'Guaranteed' || hasPodLevelResources(pod)) return 0;
  return wholeCpus(container);
}

/**
 * Returns the number of exclusive CPUs that a pod needs at the same time: that of its containers and sidecars, or of an
 * init container with the sidecars before it (`podGuaranteedCPUs`).
 */
export function exclusiveCpusOfPod(pod: Pod): number {
  const { initContainers = [], containers } = pod.spec;
  let sidecars = 0;
  let peak = 0;
  for (const container of initContainers) {
    const cpus = exclusiveCpusOf(pod, container);
    if (isRestartableInit(container)) sidecars += cpus;
    else peak = Math.max(peak, sidecars + cpus);
  }
  return Math.max(
    peak,
    containers.reduce((sum, container) => sum + exclusiveCpusOf(pod, container), sidecars),
  );
}

function wholeCpus({ resources }: Container): number {
  const milli = parseQuantity(resources?.requests?.cpu ?? '0').milliValue();
  return milli % 1000n === 0n ? Number(milli / 1000n) : 0;
}
