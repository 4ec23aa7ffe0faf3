import { withoutAssignment } from '../assignments.ts';
import { consistentMemory } from './consistent-memory.ts';
import { withoutBlocks } from './memory-groups.ts';
import { blocksOf, type MemoryState, returnMemory } from './memory-state.ts';

/**
 * Frees a container's memory (`RemoveContainer`, `pkg/kubelet/cm/memorymanager/policy_static.go`). Memory of a pod as a
 * whole is freed with the pod's last container.
 */
export function withoutMemory(state: MemoryState, podUid: string, container: string): MemoryState {
  const blocks = blocksOf(state, podUid, container);
  if (blocks === undefined) return state;
  const { assignments, others } = withoutAssignment(state.assignments, podUid, container);
  const ofPod = state.pods?.get(podUid);
  if (ofPod !== undefined && others.size > 0) return withoutBlocks(state, { ...state, assignments }, []);
  const freed = ofPod ?? blocks;
  const left = { ...state, ...withoutPod(state, podUid), nodes: freed.reduce(returnMemory, state.nodes), assignments };
  return consistentMemory(withoutBlocks(state, left, freed));
}

/** Frees all memory of a pod. */
export function withoutPodMemory(state: MemoryState, podUid: string): MemoryState {
  const containers = [...(state.assignments.get(podUid)?.keys() ?? [])];
  return containers.reduce((left, container) => withoutMemory(left, podUid, container), state);
}

/** Returns the memory of the other pods that have memory as a whole; no field if this pod has none as a whole. */
function withoutPod({ pods }: MemoryState, podUid: string): Pick<MemoryState, 'pods'> {
  if (!pods?.has(podUid)) return {};
  const left = new Map(pods);
  left.delete(podUid);
  return { pods: left };
}
