import {
  type Container,
  hasPodLevelResources,
  isHugePageResource,
  isRestartableInit,
  type Pod,
  parseResourceList,
  podQosClass,
} from '@node-agent/pod-spec';

/** Requested bytes by resource: `memory`, `hugepages-2Mi`. */
export type MemoryRequest = ReadonlyMap<string, number>;

/**
 * Returns whether containers of the pod get memory of their own: the pod is Guaranteed and has no pod-level resources,
 * because the gate PodLevelResourceManagers is off.
 */
export function getsMemory(pod: Pod): boolean {
  return podQosClass(pod) === 'Guaranteed' && !hasPodLevelResources(pod);
}

/** Returns the memory that a container requests (`getContainerRequestedResources`), sorted by resource. */
export function requestedMemory({ resources }: Container): MemoryRequest {
  const requests = [...parseResourceList(resources?.requests)].filter(
    ([name]) => name === 'memory' || isHugePageResource(name),
  );
  return new Map(requests.map(([name, quantity]) => [name, Number(quantity.value())] as const).sort(byName));
}

/**
 * Returns the memory that a pod needs at the same time, of the resources that its containers request
 * (`getPodRequestedResources`).
 */
export function requestedMemoryOfPod(pod: Pod): MemoryRequest {
  const sidecars = new Map<string, number>();
  const peak = new Map<string, number>();
  for (const container of pod.spec.initContainers ?? []) {
    for (const [name, bytes] of requestedMemory(container)) {
      const together = (sidecars.get(name) ?? 0) + bytes;
      if (isRestartableInit(container)) sidecars.set(name, together);
      else peak.set(name, Math.max(peak.get(name) ?? 0, together));
    }
  }
  const running = new Map<string, number>();
  for (const container of pod.spec.containers) {
    for (const [name, bytes] of requestedMemory(container)) running.set(name, (running.get(name) ?? 0) + bytes);
  }
  const total = [...running].map(
    ([name, bytes]) => [name, Math.max(bytes + (sidecars.get(name) ?? 0), peak.get(name) ?? 0)] as const,
  );
  return new Map(total.sort(byName));
}

function byName([a]: readonly [string, number], [b]: readonly [string, number]): number {
  return a < b ? -1 : 1;
}
