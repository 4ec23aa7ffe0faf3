import { CpuSet } from '../cpuset/cpu-set.ts';
import { ContainerResourcesError } from '../errors.ts';
import type { CpuTopology } from '../machine/cpu-topology.ts';

/** CPUs for the system and the kubelet, which no container has exclusively. */
export interface CpuReservation {
  /** Reserved amount in thousandths of a CPU: `kubeReserved` plus `systemReserved`, or the size of `cpus`. */
  readonly milliCpus: bigint;
  /** CPUs of `reservedSystemCPUs`. If the set is empty, as many CPUs as `milliCpus` needs are chosen. */
  readonly cpus: CpuSet;
}

/**
 * Returns the reserved CPUs: the CPUs of `reservedSystemCPUs` or, without that list, as many CPUs as the reserved
 * amount needs. The reserved CPUs are chosen like the CPUs of a container (`NewManager`, `NewStaticPolicy`,
 * `pkg/kubelet/cm/cpumanager`).
 * @param take chooses the given number of CPUs from all CPUs of the machine
 * @throws ContainerResourcesError `InvalidOptions`
 */
export function reservedCpus(
  topology: CpuTopology,
  { milliCpus, cpus }: CpuReservation,
  take: (available: CpuSet, count: number) => CpuSet,
): CpuSet {
  if (milliCpus <= 0n) {
    const needed = 'systemreserved.cpu + kubereserved.cpu to be greater than zero';
    throw invalid(`[cpumanager] the static policy requires ${needed}`);
  }
  const count = Number((milliCpus + 999n) / 1000n);
  const reserved = cpus.isEmpty ? takeUpTo(topology.cpus, count, take) : cpus;
  if (reserved.size !== count) {
    const sizes = `size of ${reserved} did not equal ${count}`;
    throw invalid(`new static policy error: [cpumanager] unable to reserve the required amount of CPUs (${sizes})`);
  }
  const unknown = reserved.list().find((cpu) => !topology.cpus.has(cpu));
  if (unknown === undefined) return reserved;
  const problem = `unable to build the reserved physical CPUs from the reserved set: unknown CPU ID: ${unknown}`;
  throw invalid(`new static policy error: [cpumanager] ${problem}`);
}

function takeUpTo(available: CpuSet, count: number, take: (available: CpuSet, count: number) => CpuSet): CpuSet {
  return count > available.size ? CpuSet.empty : take(available, count);
}

function invalid(message: string): ContainerResourcesError {
  return new ContainerResourcesError('InvalidOptions', message);
}
