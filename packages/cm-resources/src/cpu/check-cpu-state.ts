import type { CpuSet } from '../cpuset/cpu-set.ts';
import { type CpuState, exclusiveCpus } from './cpu-assignments.ts';

/** CPUs of the machine. A stored state must fit them. */
export interface CpuInventory {
  readonly all: CpuSet;
  readonly reserved: CpuSet;
  /** Option `strict-cpu-reservation`: reserved CPUs are not shared either. */
  readonly strictReservation: boolean;
}

/**
 * Returns the state to start with: the stored one or, if that is empty, one in which all CPUs are shared
 * (`validateState`, `pkg/kubelet/cm/cpumanager/policy_static.go`).
 * @returns the problem in upstream's wording if the stored state does not fit the machine
 */
export function startingCpuState(
  stored: CpuState,
  { all, reserved, strictReservation }: CpuInventory,
): CpuState | string {
  const { shared, assignments } = stored;
  const usable = strictReservation ? all.difference(reserved) : all;
  if (shared.isEmpty && assignments.size === 0) return { ...stored, shared: usable };
  // With strict reservation, containers may have all CPUs that are not reserved. Upstream does not start then.
  if (shared.isEmpty && !strictReservation) return 'default cpuset cannot be empty';
  const sharedReserved = reserved.intersection(shared);
  if (strictReservation && !sharedReserved.isEmpty) {
    return `some of strictly reserved cpus: "${sharedReserved}" are present in defaultCpuSet: "${shared}"`;
  }
  if (!strictReservation && !sharedReserved.equals(reserved)) {
    return `not all reserved cpus: "${reserved}" are present in defaultCpuSet: "${shared}"`;
  }
  for (const [pod, containers] of assignments) {
    for (const [container, cpus] of containers) {
      if (cpus.intersection(shared).isEmpty) continue;
      return `pod: ${pod}, container: ${container} cpuset: "${cpus}" overlaps with default cpuset "${shared}"`;
    }
  }
  const twice = cpusOfTwoPods(stored);
  if (twice !== undefined) return twice;
  const known = shared.union(exclusiveCpus(stored));
  if (known.equals(usable)) return stored;
  return `current set of available CPUs "${usable}" doesn't match with CPUs in state "${known}"`;
}

/** Returns two pods that have a CPU in common. Upstream does not check this. */
function cpusOfTwoPods({ assignments, pods }: CpuState): string | undefined {
  const owners = new Map<number, string>();
  for (const [pod, containers] of assignments) {
    for (const cpu of [...containers.values(), pods?.get(pod) ?? []].flatMap((cpus) => [...cpus])) {
      const other = owners.get(cpu) ?? pod;
      if (other !== pod) return `pods ${other} and ${pod} both have CPU ${cpu} exclusively`;
      owners.set(cpu, pod);
    }
  }
  return undefined;
}
