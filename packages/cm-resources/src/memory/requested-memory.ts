import {
  type Container,
  isHugePageResource,
  isRestartableInit,
  type Pod,
  parseResourceList,
  podQosClass,
  type ResourceList,
} from '@node-agent/pod-spec';
import { hasOwnResources, isManaged, isPodLevel } from '../pod-level.ts';

/** Requested bytes by resource: `memory`, `hugepages-2Mi`. */
export type MemoryRequest = ReadonlyMap<string, number>;

/**
 * Reports whether memory is allocated to the pod or its containers: the pod is Guaranteed and, unless the gate
 * `PodLevelResourceManagers` is on, has no pod-level resources.
 */
export function getsMemory(pod: Pod, podLevel: boolean): boolean {
  return podQosClass(pod) === 'Guaranteed' && isManaged(pod, podLevel);
}

/**
 * Returns the memory that a container gets for itself (`getContainerRequestedResources`), sorted by resource. Returns
 * an empty map if the container shares its pod's memory.
 */
export function requestedMemory(pod: Pod, container: Container, podLevel: boolean): MemoryRequest {
  if (!hasOwnResources(pod, container, podLevel)) return new Map();
  return memoryOf(parseResourceList(container.resources?.requests));
}

function memoryOf(requests: ResourceList): MemoryRequest {
  const memory = [...requests].filter(([name]) => name === 'memory' || isHugePageResource(name));
  return new Map(memory.map(([name, quantity]) => [name, Number(quantity.value())] as const).sort(byName));
}

/**
 * Returns the memory that a pod needs at the same time, of the resources that its containers request
 * (`getPodRequestedResources`). For a pod with pod-level resources and the gate, this is the pod-level request.
 */
export function requestedMemoryOfPod(pod: Pod, podLevel: boolean): MemoryRequest {
  if (isPodLevel(pod, podLevel)) {
    return new Map([...memoryOf(parseResourceList(pod.spec.resources?.requests))].filter(([, bytes]) => bytes > 0));
  }
  const sidecars = new Map<string, number>();
  const peak = new Map<string, number>();
  for (const container of pod.spec.initContainers ?? []) {
    for (const [name, bytes] of requestedMemory(pod, container, podLevel)) {
      const together = (sidecars.get(name) ?? 0) + bytes;
      if (isRestartableInit(container)) sidecars.set(name, together);
      else peak.set(name, Math.max(peak.get(name) ?? 0, together));
    }
  }
  const running = new Map<string, number>();
  for (const container of pod.spec.containers) {
    for (const [name, bytes] of requestedMemory(pod, container, podLevel))
      running.set(name, (running.get(name) ?? 0) + bytes);
  }
  const total = [...running].map(
    ([name, bytes]) => [name, Math.max(bytes + (sidecars.get(name) ?? 0), peak.get(name) ?? 0)] as const,
  );
  return new Map(total.sort(byName));
}

function byName([a]: readonly [string, number], [b]: readonly [string, number]): number {
  return a < b ? -1 : 1;
}
