import { statfs } from 'node:fs/promises';
import { allocatableAbsolute } from '@node-agent/cm-cgroups';
import type { KubeletConfiguration, KubeletFlags } from '@node-agent/config';
import {
  isCpuSubset,
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
import { formatResourceList, Quantity, type ResourceList, type ResourceListJson } from '@node-agent/pod-spec';
import { enforcedResources } from './enforced-resources.ts';

/** What there is of this machine for pods, and what is kept back of it. */
export interface NodeResources {
  readonly reservations: Reservations;
  readonly allocatable: ResourceListJson;
  /** What all pods together are held to. */
  readonly enforced: ResourceList;
  /** What the machine has less what is reserved, whatever is enforced and eviction keeps back. */
  readonly unreserved: ResourceList;
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
  expectCpus(configuration.reservedSystemCPUs, await readText(fs, '/sys/devices/system/cpu/online'));
  const ephemeralStorageBytes = await fileSystemBytes(flags.rootDir);
  const capacity = new Map([...machineCapacity(machine), ['pid', Quantity.of(await maxProcesses(fs))] as const]);
  const enforced = enforcedResources(capacity, reservations, configuration.enforceNodeAllocatable);
  const allocatable = allocatableOf(configuration, reservations, { machine, ephemeralStorageBytes });
  expectRoom(capacity, reservations);
  return { reservations, allocatable, enforced, unreserved: allocatableAbsolute(capacity, reservations.reserved) };
}

/** @throws Error where the machine has not got what is to be kept back of it */
export function allocatableOf(
  configuration: KubeletConfiguration,
  reservations: Reservations,
  facts: { readonly machine: MachineInfo; readonly ephemeralStorageBytes: number },
): ResourceListJson {
  const capacity = nodeCapacity(new Map(), facts, configuration);
  expectRoom(capacity, reservations);
  return formatResourceList(nodeAllocatable(new Map(), capacity, reservations));
}

/** @throws Error where a resource has not got what is to be kept back of it */
function expectRoom(capacity: ResourceList, reservations: Reservations): void {
  const problems = reservationProblems(capacity, reservations);
  if (problems.length > 0) throw new Error(`invalid Node Allocatable configuration. ${problems.join(' ')}`);
}

/** @throws Error where the machine has not got the CPUs that are to be kept back of it */
export function expectCpus(reserved: string, online: string): void {
  if (reserved === '' || isCpuSubset(reserved, online)) return;
  throw new Error(`reserved-cpus: ${reserved} is not a subset of online-cpus: ${online.trim()}`);
}

/** How many processes the kernel takes: the lower of its two limits (`pkg/kubelet/stats/pidlimit`). */
async function maxProcesses(fs: MachineFiles): Promise<number> {
  const limits = ['/proc/sys/kernel/pid_max', '/proc/sys/kernel/threads-max'].map(async (path) => {
    const limit = Number(await readText(fs, path));
    if (!(limit > 0)) throw new Error(`${path}: not a limit of processes`);
    return limit;
  });
  return Math.min(...(await Promise.all(limits)));
}

async function readText(fs: MachineFiles, path: string): Promise<string> {
  return new TextDecoder().decode(await fs.readFile(path));
}

/** The size of the file system that a directory is on. */
export async function fileSystemBytes(directory: string): Promise<number> {
  const { blocks, bsize } = await statfs(directory);
  return blocks * bsize;
}
