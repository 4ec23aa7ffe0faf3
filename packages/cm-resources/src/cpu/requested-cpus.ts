import { type Container, isRestartableInit, type Pod, parseQuantity, podQosClass } from '@node-agent/pod-spec';
import { hasOwnResources, isPodLevel } from '../pod-level.ts';

/**
 * Returns the number of exclusive CPUs that a container gets: its CPU request, if its pod is Guaranteed and the request
 * is a whole number; otherwise 0 (`guaranteedCPUs`, `pkg/kubelet/cm/cpumanager/policy_static.go`).
 * @param podLevel gate `PodLevelResourceManagers`; if the gate is off, containers of pods with pod-level resources get
 * no exclusive CPUs
 */
export function exclusiveCpusOf(pod: Pod, container: Container, podLevel: boolean): number {
  if (podQosClass(pod) !== 'Guaranteed' || !hasOwnResources(pod, container, podLevel)) return 0;
  return wholeCpus(container);
}

/**
 * Returns the number of exclusive CPUs that a pod needs at the same time (`podGuaranteedCPUs`): the larger of the sum
 * over its containers and sidecars, and the sum over an init container and the sidecars before it. For a pod with
 * pod-level resources and the gate, this is the pod-level request.
 */
export function exclusiveCpusOfPod(pod: Pod, podLevel: boolean): number {
  if (isPodLevel(pod, podLevel)) return podQosClass(pod) === 'Guaranteed' ? wholeCpus(pod.spec) : 0;
  const { initContainers = [], containers } = pod.spec;
  let sidecars = 0;
  let peak = 0;
  for (const container of initContainers) {
    const cpus = exclusiveCpusOf(pod, container, podLevel);
    if (isRestartableInit(container)) sidecars += cpus;
    else peak = Math.max(peak, sidecars + cpus);
  }
  return Math.max(
    peak,
    containers.reduce((sum, container) => sum + exclusiveCpusOf(pod, container, podLevel), sidecars),
  );
}

function wholeCpus({ resources }: Pick<Container, 'resources'> | Pod['spec']): number {
  const milli = parseQuantity(resources?.requests?.cpu ?? '0').milliValue();
  return milli % 1000n === 0n ? Number(milli / 1000n) : 0;
}
