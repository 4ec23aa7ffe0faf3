import { withoutAssignment } from '../assignments.ts';
import { consistentMemory } from './consistent-memory.ts';
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
  if (ofPod !== undefined) {
    if (others.size > 0) return { ...state, assignments };
    const pods = new Map(state.pods);
    pods.delete(podUid);
    return consistentMemory({ nodes: ofPod.reduce(returnMemory, state.nodes), assignments, pods });
  }
  return consistentMemory({ ...state, nodes: blocks.reduce(returnMemory, state.nodes), assignments });
}

/** Frees all memory of a pod. */
export function withoutPodMemory(state: MemoryState, podUid: string): MemoryState {
  const containers = [...(state.assignments.get(podUid)?.keys() ?? [])];
  return containers.reduce((left, container) => withoutMemory(left, podUid, container), state);
}
