import { type Container, hasPodLevelResources, type Pod, parseQuantity } from '@node-agent/pod-spec';

/**
 * Reports whether a container of a pod with pod-level resources gets CPUs and memory of its own: its requests of CPU
 * and memory must equal its limits (`IsContainerEquivalentQOSGuaranteed`, `pkg/kubelet/cm/qos`).
 */
function isGuaranteedAlone({ resources }: Container): boolean {
  return ['cpu', 'memory'].every((name) => {
    const request = parseQuantity(resources?.requests?.[name] ?? '0');
    return !request.isZero && request.equals(parseQuantity(resources?.limits?.[name] ?? '0'));
  });
}

/**
 * Returns whether containers of the pod can get CPUs and memory of their own: always without pod-level resources, and
 * with them if the gate `PodLevelResourceManagers` is on.
 */
export function isManaged(pod: Pod, podLevel: boolean): boolean {
  return podLevel || !hasPodLevelResources(pod);
}

/** Reports whether CPUs and memory are allocated to the pod as a whole and then divided among its containers. */
export function isPodLevel(pod: Pod, podLevel: boolean): boolean {
  return podLevel && hasPodLevelResources(pod);
}

/**
 * Returns whether a container gets the resources that it requests for itself. A container without resources of its own
 * shares the resources of its pod.
 */
export function hasOwnResources(pod: Pod, container: Container, podLevel: boolean): boolean {
  return isManaged(pod, podLevel) && (!hasPodLevelResources(pod) || isGuaranteedAlone(container));
}
