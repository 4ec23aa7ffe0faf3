import { withoutAssignment } from '../assignments.ts';
import { CpuSet } from '../cpuset/cpu-set.ts';

/** Exclusive CPUs of each container: a map by pod UID of maps by container name. */
export type CpuAssignments = ReadonlyMap<string, ReadonlyMap<string, CpuSet>>;

/** The exclusive CPUs of containers, and the CPUs that all other containers share. Immutable. */
export interface CpuState {
  /** CPUs that all containers without exclusive CPUs share. */
  readonly shared: CpuSet;
  readonly assignments: CpuAssignments;
  /**
   * CPUs of pods as a whole, by pod UID: the CPUs of their containers and the CPUs that no container has. If the gate
   * `PodLevelResourceManagers` is on, pods with pod-level resources have an entry in this map. Default: none.
   */
  readonly pods?: ReadonlyMap<string, CpuSet>;
}

export const noCpus: CpuState = { shared: CpuSet.empty, assignments: new Map() };

/** Returns the exclusive CPUs of a container; `undefined` if the container has none. */
export function cpusOf({ assignments }: CpuState, podUid: string, container: string): CpuSet | undefined {
  return assignments.get(podUid)?.get(container);
}

/** Returns all CPUs that a container or a pod has exclusively. */
export function exclusiveCpus({ assignments, pods }: CpuState): CpuSet {
  const ofContainers = [...assignments.values()].flatMap((containers) => [...containers.values()]);
  return CpuSet.empty.union(...ofContainers, ...(pods?.values() ?? []));
}

/** Gives CPUs to a container and removes them from the shared pool. */
export function withCpus(state: CpuState, podUid: string, container: string, cpus: CpuSet): CpuState {
  const containers = new Map(state.assignments.get(podUid)).set(container, cpus);
  return {
    ...state,
    shared: state.shared.difference(cpus),
    assignments: new Map(state.assignments).set(podUid, containers),
  };
}

/** Gives CPUs to a pod as a whole and removes them from the shared pool. */
export function withPodCpus(state: CpuState, podUid: string, cpus: CpuSet): CpuState {
  return { ...state, shared: state.shared.difference(cpus), pods: new Map(state.pods).set(podUid, cpus) };
}

/**
 * Frees a container's CPUs. CPUs that another container of the same pod also has stay exclusive. All other CPUs of the
 * container return to the shared pool (`RemoveContainer`, `pkg/kubelet/cm/cpumanager/policy_static.go`). CPUs of a pod
 * as a whole return when its last container is removed.
 */
export function withoutContainer(state: CpuState, podUid: string, container: string): CpuState {
  const released = cpusOf(state, podUid, container);
  if (released === undefined) return state;
  const { assignments, others } = withoutAssignment(state.assignments, podUid, container);
  const ofPod = state.pods?.get(podUid);
  if (ofPod !== undefined) {
    if (others.size > 0) return { ...state, assignments };
    const pods = new Map(state.pods);
    pods.delete(podUid);
    return { shared: state.shared.union(ofPod), assignments, pods };
  }
  const kept = CpuSet.empty.union(...others.values());
  return { ...state, shared: state.shared.union(released.difference(kept)), assignments };
}

/** Frees all CPUs of a pod. */
export function withoutPod(state: CpuState, podUid: string): CpuState {
  const containers = [...(state.assignments.get(podUid)?.keys() ?? [])];
  return containers.reduce((left, container) => withoutContainer(left, podUid, container), state);
}
