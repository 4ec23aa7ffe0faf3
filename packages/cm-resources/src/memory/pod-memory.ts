import { type Container, isRestartableInit, type Pod } from '@node-agent/pod-spec';
import { emptyPool } from '../empty-pool.ts';
import type { MemoryBlock } from './memory-state.ts';
import { type MemoryRequest, requestedMemory } from './requested-memory.ts';

const ownMemory = (pod: Pod, container: Container): MemoryRequest => requestedMemory(pod, container, true);

/**
 * Checks that some memory of a pod remains for its containers without memory of their own (`validatePodScopeResources`,
 * `pkg/kubelet/cm/memorymanager/policy_static.go`).
 * @param total memory of the pod
 * @throws ContainerResourcesError `Refused` with reason EmptyPodSharedPoolError
 */
export function checkMemoryPool(pod: Pod, total: MemoryRequest): void {
  const exclusive = new Map<string, number>();
  let isShared = false;
  const count = (container: Container): void => {
    const own = ownMemory(pod, container);
    isShared ||= own.size === 0;
    for (const [name, bytes] of own) exclusive.set(name, (exclusive.get(name) ?? 0) + bytes);
  };
  const usedUp = (): string | undefined => [...total].find(([name, bytes]) => (exclusive.get(name) ?? 0) >= bytes)?.[0];
  for (const container of pod.spec.initContainers ?? []) {
    if (isRestartableInit(container)) count(container);
    else if (ownMemory(pod, container).size === 0) {
      const name = usedUp();
      if (name !== undefined) throw emptyPool(`pod has shared init containers but no ${name} available for them`);
    }
  }
  for (const container of pod.spec.containers) count(container);
  const name = isShared ? usedUp() : undefined;
  if (name === undefined) return;
  const sum = `sum of exclusive container ${name} requests equals pod budget`;
  throw emptyPool(`${sum}, leaving no memory for shared containers`);
}

/** Reports whether {@link checkMemoryPool} would succeed. */
export function hasMemoryPool(pod: Pod, total: MemoryRequest): boolean {
  try {
    checkMemoryPool(pod, total);
    return true;
  } catch {
    return false;
  }
}

/** Returns a memory block on these NUMA nodes for each resource with more than 0 bytes. */
export function blocksFrom(memory: MemoryRequest, nodes: readonly number[]): readonly MemoryBlock[] {
  return [...memory].flatMap(([resource, bytes]) => (bytes > 0 ? [{ nodes, resource, bytes }] : []));
}

/**
 * Divides the memory of a pod among its containers (`AllocatePod`, `pkg/kubelet/cm/memorymanager/policy_static.go`).
 * Main containers and sidecars without memory of their own share the rest. An init container may use all memory of the
 * pod except that of the sidecars before it.
 */
export function dividedMemory(
  pod: Pod,
  total: MemoryRequest,
  nodes: readonly number[],
): ReadonlyMap<string, readonly MemoryBlock[]> {
  const divided = new Map<string, readonly MemoryBlock[]>();
  const { initContainers = [], containers } = pod.spec;
  let left = total;
  for (const container of initContainers) {
    const own = ownMemory(pod, container);
    if (own.size > 0) divided.set(container.name, blocksFrom(own, nodes));
    else if (!isRestartableInit(container)) divided.set(container.name, blocksFrom(left, nodes));
    if (isRestartableInit(container)) left = without(left, own);
  }
  for (const container of containers) {
    const own = ownMemory(pod, container);
    if (own.size === 0) continue;
    divided.set(container.name, blocksFrom(own, nodes));
    left = without(left, own);
  }
  const shared = blocksFrom(left, nodes);
  for (const { name } of [...initContainers, ...containers]) if (!divided.has(name)) divided.set(name, shared);
  return divided;
}

function without(total: MemoryRequest, own: MemoryRequest): MemoryRequest {
  return new Map([...total].map(([name, bytes]) => [name, Math.max(0, bytes - (own.get(name) ?? 0))] as const));
}
