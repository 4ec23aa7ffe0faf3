import type { CpuSet } from '../cpuset/cpu-set.ts';
import { type CpuState, exclusiveCpus } from './cpu-assignments.ts';

/** CPUs of the machine, which a stored state must match. */
export interface CpuInventory {
  readonly all: CpuSet;
  readonly reserved: CpuSet;
  /** Whether the option `strict-cpu-reservation` removes the reserved CPUs from the shared pool. */
  readonly strictReservation: boolean;
}

/**
 * Returns the CPU state to start with: the stored state or, if the stored state is empty, a state in which all CPUs are
 * shared (`validateState`, `pkg/kubelet/cm/cpumanager/policy_static.go`).
 * @returns the problem in upstream's wording if the stored state does not fit the machine
 */
export function startingCpuState(
  stored: CpuState,
  { all, reserved, strictReservation }: CpuInventory,
): CpuState | string {
  const { shared, assignments } = stored;
  const usable = strictReservation ? all.difference(reserved) : all;
  if (shared.isEmpty && assignments.size === 0) return { ...stored, shared: usable };
  // With strict reservation, the shared pool may be empty: all CPUs that are not reserved may be exclusive. Upstream
  // rejects such a state and does not start.
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

/**
 * Returns a message that names two pods with a common exclusive CPU; `undefined` if there are none. Upstream does not
 * check whether two pods have a common CPU.
 */
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
