import { CpuSet } from '../cpuset/cpu-set.ts';

/** CPUs by container name, by pod UID. */
export type CpuAssignments = ReadonlyMap<string, ReadonlyMap<string, CpuSet>>;

/** The exclusive CPUs of containers, and the CPUs that all other containers share. Immutable. */
export interface CpuState {
  /** CPUs that all containers without exclusive CPUs share. */
  readonly shared: CpuSet;
  readonly assignments: CpuAssignments;
}

export const noCpus: CpuState = { shared: CpuSet.empty, assignments: new Map() };

/** Returns the exclusive CPUs of a container; `undefined` if the container has none. */
export function cpusOf({ assignments }: CpuState, podUid: string, container: string): CpuSet | undefined {
  return assignments.get(podUid)?.get(container);
}

/** Returns all exclusive CPUs. */
export function exclusiveCpus({ assignments }: CpuState): CpuSet {
  return CpuSet.empty.union(...[...assignments.values()].flatMap((containers) => [...containers.values()]));
}

/** Gives CPUs to a container and removes them from the shared pool. */
export function withCpus(state: CpuState, podUid: string, container: string, cpus: CpuSet): CpuState {
  const containers = new Map(state.assignments.get(podUid)).set(container, cpus);
  return {
    shared: state.shared.difference(cpus),
    assignments: new Map(state.assignments).set(podUid, containers),
  };
}

/**
 * Frees a container's CPUs. CPUs that other containers of its pod have too stay exclusive; the others return to
 * the shared pool (`RemoveContainer`, `pkg/kubelet/cm/cpumanager/policy_static.go`).
 */
export function withoutContainer(state: CpuState, podUid: string, container: string): CpuState {
  const released = cpusOf(state, podUid, container);
  if (released === undefined) return state;
  const containers = new Map(state.assignments.get(podUid));
  containers.delete(container);
  const assignments = new Map(state.assignments);
  if (containers.size === 0) assignments.delete(podUid);
  else assignments.set(podUid, containers);
  const kept = CpuSet.empty.union(...containers.values());
  return { shared: state.shared.union(released.difference(kept)), assignments };
}

/** Frees all CPUs of a pod. */
export function withoutPod(state: CpuState, podUid: string): CpuState {
  const containers = [...(state.assignments.get(podUid)?.keys() ?? [])];
  return containers.reduce((left, container) => withoutContainer(left, podUid, container), state);
}
