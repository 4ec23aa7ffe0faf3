import { statfs } from 'node:fs/promises';
import type { KubeletConfiguration, KubeletFlags } from '@node-agent/config';
import {
  type MachineFiles,
  type MachineInfo,
  machineCapacity,
  nodeAllocatable,
  nodeCapacity,
  parseReservations,
  type Reservations,
  readMachineInfo,
  reservationProblems,
} from '@node-agent/node-status';
import { formatResourceList, type ResourceListJson } from '@node-agent/pod-spec';

/** What there is of this machine for pods, and what is kept back of it. */
export interface NodeResources {
  readonly reservations: Reservations;
  readonly allocatable: ResourceListJson;
}

/**
 * Reads what the machine has, once: a node without an API server admits pods by it.
 * @throws Error where the machine has not got what is to be kept back of it; NodeStatusError naming the field
 */
export async function readNodeResources(
  configuration: KubeletConfiguration,
  flags: KubeletFlags,
  fs: MachineFiles,
): Promise<NodeResources> {
  const reservations = parseReservations({
    kubeReserved: configuration.kubeReserved,
    systemReserved: configuration.systemReserved,
    evictionHard: configuration.evictionHard,
    reservedSystemCpus: configuration.reservedSystemCPUs,
    ignoreEviction: flags.experimentalAllocatableIgnoreEviction,
  });
  const machine = await readMachineInfo(fs);
  const ephemeralStorageBytes = await fileSystemBytes(flags.rootDir);
  return { reservations, allocatable: allocatableOf(configuration, reservations, { machine, ephemeralStorageBytes }) };
}

/** @throws Error where the machine has not got what is to be kept back of it */
export function allocatableOf(
  configuration: KubeletConfiguration,
  reservations: Reservations,
  facts: { readonly machine: MachineInfo; readonly ephemeralStorageBytes: number },
): ResourceListJson {
  const problems = reservationProblems(machineCapacity(facts.machine), reservations);
  if (problems.length > 0) throw new Error(`invalid Node Allocatable configuration. ${problems.join(' ')}`);
  return formatResourceList(nodeAllocatable(new Map(), nodeCapacity(new Map(), facts, configuration), reservations));
}

/** The size of the file system that a directory is on. */
export async function fileSystemBytes(directory: string): Promise<number> {
  const { blocks, bsize } = await statfs(directory);
  return blocks * bsize;
}
