import type { TopologyHint, TopologyHints } from '@node-agent/contracts';
import { type Container, isRestartableInit, type Pod } from '@node-agent/pod-spec';
import { containersOf } from '../containers-of.ts';
import { ContainerResourcesError } from '../errors.ts';
import { isPodLevel } from '../pod-level.ts';
import { bestHint, hasRoom, keepsGroups, memoryHints } from './memory-hints.ts';
import { MemoryReuse } from './memory-reuse.ts';
import { blocksOf, type MemoryBlock, type MemoryState, sameNodes, takeMemory, withBlocks } from './memory-state.ts';
import { blocksFrom, checkMemoryPool, dividedMemory, hasMemoryPool } from './pod-memory.ts';
import { getsMemory, type MemoryRequest, requestedMemory, requestedMemoryOfPod } from './requested-memory.ts';

/**
 * Allocates the memory and huge pages that a container of a Guaranteed pod requests, from as few NUMA nodes as
 * possible. Does nothing if the container already has an allocation (`Allocate`,
 * `pkg/kubelet/cm/memorymanager/policy_static.go`).
 * @param affinity hint of the topology manager
 * @param reuse memory that earlier init containers of the pod leave; this call updates it
 * @param podLevel gate `PodLevelResourceManagers`
 * @throws ContainerResourcesError `Refused`
 */
export function allocateMemory(
  state: MemoryState,
  pod: Pod,
  container: Container,
  affinity: TopologyHint,
  reuse: MemoryReuse,
  podLevel: boolean,
): MemoryState {
  if (!getsMemory(pod, podLevel)) return state;
  const { uid } = pod.metadata;
  const held = blocksOf(state, uid, container.name);
  const finishes = isInit(pod, container);
  if (held !== undefined) {
    reuse.allocated(held, finishes);
    return state;
  }
  if (finishes && hasFreedMemory(state, pod, container)) return state;
  const request = requestedMemory(pod, container, podLevel);
  // A container without memory of its own is not restricted to any NUMA node. Upstream rejects the pod of such a
  // container if no hint of another resource has chosen the nodes.
  if (request.size === 0) return withBlocks(state, uid, container.name, []);
  const nodes = nodesFor(state.nodes, request, affinity, reuse);
  const blocks = [...request].map(([resource, bytes]) => ({ nodes, resource, bytes }));
  let next = state;
  for (const block of blocks) {
    const reusable = Math.min(block.bytes, reuse.of(nodes, block.resource));
    const { left, reused } = withoutReused(next, pod, container, { ...block, bytes: reusable });
    next = { ...left, nodes: takeMemory(left.nodes, { ...block, bytes: block.bytes - reused }) };
  }
  reuse.allocated(blocks, finishes);
  return withBlocks(next, uid, container.name, blocks);
}

/**
 * Allocates the memory of a pod with pod-level resources and divides it among the containers (`AllocatePod`). Does
 * nothing if the pod or one of its containers already has an allocation. Upstream would allocate the memory of such a pod
 * again when the kubelet is restarted.
 * @throws ContainerResourcesError `Refused`
 */
export function allocatePodMemory(state: MemoryState, pod: Pod, affinity: TopologyHint): MemoryState {
  const { uid } = pod.metadata;
  if (!getsMemory(pod, true) || state.assignments.has(uid)) return state;
  const request = requestedMemoryOfPod(pod, true);
  checkMemoryPool(pod, request);
  const nodes = nodesFor(state.nodes, request, affinity, new MemoryReuse());
  const blocks = blocksFrom(request, nodes);
  const assignments = new Map(state.assignments).set(uid, dividedMemory(pod, request, nodes));
  return { nodes: blocks.reduce(takeMemory, state.nodes), assignments, pods: new Map(state.pods).set(uid, blocks) };
}

/** Returns the NUMA hints for the memory of a container (`GetTopologyHints`). */
export function containerMemoryHints(
  state: MemoryState,
  pod: Pod,
  container: Container,
  reuse: MemoryReuse,
  podLevel: boolean,
): TopologyHints {
  if (!getsMemory(pod, podLevel)) return new Map();
  const request = requestedMemory(pod, container, podLevel);
  const held = blocksOf(state, pod.metadata.uid, container.name);
  if (held !== undefined) return heldHints(held, request);
  if (isInit(pod, container) && hasFreedMemory(state, pod, container)) return new Map();
  return hintsFor(state, request, reuse);
}

/** Returns the NUMA hints for the memory of a pod as a whole (`GetPodTopologyHints`). */
export function podMemoryHints(state: MemoryState, pod: Pod, podLevel: boolean): TopologyHints {
  if (!getsMemory(pod, podLevel)) return new Map();
  const request = requestedMemoryOfPod(pod, podLevel);
  if (request.size === 0) return new Map();
  const ofPod = state.pods?.get(pod.metadata.uid);
  if (ofPod !== undefined) return heldHints(ofPod, request);
  // The pod was admitted with another scope. Its containers keep what they have, so nothing is allocated.
  if (isPodLevel(pod, podLevel) && state.assignments.has(pod.metadata.uid)) return new Map();
  if (isPodLevel(pod, podLevel) && !hasMemoryPool(pod, request)) {
    return new Map([...request.keys()].map((resource) => [resource, []]));
  }
  for (const { name } of containersOf(pod)) {
    const held = blocksOf(state, pod.metadata.uid, name);
    if (held !== undefined) return heldHints(held, request);
  }
  return hintsFor(state, request, new MemoryReuse());
}

function hintsFor({ nodes }: MemoryState, request: MemoryRequest, reuse: MemoryReuse): TopologyHints {
  const hints = memoryHints(nodes, request, (group, resource) => reuse.of(group, resource));
  // If no NUMA nodes are possible, no preference is returned, as in upstream: the allocation then fails with its own
  // message.
  return hints.length === 0 ? new Map() : new Map([...request.keys()].map((resource) => [resource, hints]));
}

/**
 * Returns the hints for memory that is already allocated. Returns no hints if the memory differs from the request
 * (`regenerateHints`).
 */
function heldHints(held: readonly MemoryBlock[], request: MemoryRequest): TopologyHints {
  const fits = held.length === request.size && held.every(({ resource, bytes }) => request.get(resource) === bytes);
  if (!fits) return new Map();
  return new Map(held.map(({ resource, nodes }) => [resource, [{ nodes, preferred: true }]]));
}

/**
 * Returns the NUMA nodes from which the request is allocated: the nodes of the hint, and further nodes if these have
 * too little memory. If the hint has no nodes, the best nodes are chosen.
 * @throws ContainerResourcesError `Refused`
 */
function nodesFor(
  machine: MemoryState['nodes'],
  request: MemoryRequest,
  affinity: TopologyHint,
  reuse: MemoryReuse,
): readonly number[] {
  const possible = (): readonly TopologyHint[] => memoryHints(machine, request, (group, name) => reuse.of(group, name));
  let hint = affinity;
  if (hint.nodes === undefined) {
    const hints = possible();
    if (hints.length === 0) {
      throw refused('failed to get the default NUMA affinity, no NUMA nodes with enough memory is available');
    }
    hint = bestHint(hints) ?? hint;
    if (!hint.preferred && affinity.preferred) throw refused('failed to find the default preferred hint');
  }
  const { nodes = [] } = hint;
  if (!hasRoom(machine, nodes, request)) {
    const larger = possible().filter(({ nodes: group = [] }) => nodes.every((id) => group.includes(id)));
    const extended = bestHint(larger);
    if (extended === undefined) throw refused('failed to find NUMA nodes to extend the current topology hint');
    if (!extended.preferred && hint.preferred) throw refused('failed to find the extended preferred hint');
    hint = extended;
  }
  if (!keepsGroups(machine, hint.nodes ?? [])) throw refused('preferred hint violates NUMA node allocation');
  return hint.nodes ?? [];
}

/**
 * Subtracts memory that a container reuses from the blocks of the init containers before it, so that the blocks of a
 * pod add up to what the pod has. Upstream subtracts the container's whole memory, even if none of it is reused
 * (`updateInitContainersMemoryBlocks`): if a pod with a sidecar is admitted again after a restart, memory is lost, and
 * the next kubelet rejects its own state file.
 * @param block memory to reuse
 * @returns the remaining state, and the number of bytes that the init containers had
 */
function withoutReused(
  state: MemoryState,
  pod: Pod,
  container: Container,
  block: MemoryBlock,
): { readonly left: MemoryState; readonly reused: number } {
  let left = state;
  let rest = block.bytes;
  const { uid } = pod.metadata;
  for (const init of pod.spec.initContainers ?? []) {
    if (init.name === container.name || rest === 0) break;
    if (isRestartableInit(init)) continue;
    const held = blocksOf(left, uid, init.name);
    if (held === undefined) continue;
    const reduced = held.map((one) => {
      if (one.resource !== block.resource || !sameNodes(one.nodes, block.nodes)) return one;
      const bytes = Math.min(one.bytes, rest);
      rest -= bytes;
      return { ...one, bytes: one.bytes - bytes };
    });
    left = withBlocks(left, uid, init.name, reduced);
  }
  return { left, reused: block.bytes - rest };
}

/**
 * Reports whether an init container without an allocation has freed its memory because a later container was started:
 * containers get their memory in order, so the memory of a later container proves that the pod was admitted before. If
 * the pod is admitted again, after a restart of the machine, the init container gets no new memory and may use all
 * nodes, as it may when it runs again without a restart. Upstream allocates the memory again, and rejects the pod if
 * other pods use it now.
 */
function hasFreedMemory(state: MemoryState, pod: Pod, { name: init }: Container): boolean {
  const names = containersOf(pod).map(({ name }) => name);
  return names.slice(names.indexOf(init) + 1).some((name) => blocksOf(state, pod.metadata.uid, name) !== undefined);
}

function isInit(pod: Pod, { name }: Container): boolean {
  return (pod.spec.initContainers ?? []).some((init) => init.name === name && !isRestartableInit(init));
}

function refused(problem: string): ContainerResourcesError {
  return new ContainerResourcesError('Refused', `[memorymanager] ${problem}`);
}
