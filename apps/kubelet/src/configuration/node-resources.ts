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
  reservationOfCapacity,
  reservationProblems,
} from '@node-agent/node-status';
import { formatResourceList, Quantity, type ResourceList, type ResourceListJson } from '@node-agent/pod-spec';
import { enforcedResources } from './enforced-resources.ts';

/** The machine's resources for pods and its reservations. */
export interface NodeResources {
  readonly reservations: Reservations;
  readonly allocatable: ResourceListJson;
  /** Returns the allocatable resources with another number of pods. */
  allocatableWith(limits: Pick<KubeletConfiguration, 'maxPods' | 'podsPerCore'>): ResourceListJson;
  /** Quantity of each resource that the node reserves, including hard eviction thresholds. */
  readonly reservation: ResourceList;
  /** Limits of the cgroup of all pods. */
  readonly enforced: ResourceList;
  /** Capacity minus reservations. `enforceNodeAllocatable` and eviction thresholds have no influence. */
  readonly unreserved: ResourceList;
}

/**
 * Reads the machine's resources once. A node without an API server admits pods by these values.
 * @throws Error if the machine has less than the reservations
 * @throws NodeStatusError naming the invalid field
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
  const facts = { machine, ephemeralStorageBytes };
  const allocatable = allocatableOf(configuration, reservations, facts);
  expectRoom(capacity, reservations);
  const reservation = reservationOfCapacity(capacity, reservations);
  const unreserved = allocatableAbsolute(capacity, reservations.reserved);
  const allocatableWith: NodeResources['allocatableWith'] = (limits) =>
    allocatableOf({ ...configuration, ...limits }, reservations, facts);
  return { reservations, allocatable, allocatableWith, reservation, enforced, unreserved };
}

/** Computes the node's allocatable resources. @throws Error if the machine has less than the reservations */
export function allocatableOf(
  configuration: KubeletConfiguration,
  reservations: Reservations,
  facts: { readonly machine: MachineInfo; readonly ephemeralStorageBytes: number },
): ResourceListJson {
  const capacity = nodeCapacity(new Map(), facts, configuration);
  expectRoom(capacity, reservations);
  return formatResourceList(nodeAllocatable(new Map(), capacity, reservations));
}

/** Validates the reservations. @throws Error if the reservations of a resource exceed its capacity */
function expectRoom(capacity: ResourceList, reservations: Reservations): void {
  const problems = reservationProblems(capacity, reservations);
  if (problems.length > 0) throw new Error(`invalid Node Allocatable configuration. ${problems.join(' ')}`);
}

/** Validates `reservedSystemCPUs`. @throws Error if a reserved CPU is not online */
export function expectCpus(reserved: string, online: string): void {
  if (reserved === '' || isCpuSubset(reserved, online)) return;
  throw new Error(`reserved-cpus: ${reserved} is not a subset of online-cpus: ${online.trim()}`);
}

/** Returns the maximum number of processes: the lower of the kernel's two limits (`pkg/kubelet/stats/pidlimit`). */
async function maxProcesses(fs: MachineFiles): Promise<number> {
  const limits = ['/proc/sys/kernel/pid_max', '/proc/sys/kernel/threads-max'].map(async (path) => {
    const limit = Number(await readText(fs, path));
    if (!(limit > 0)) throw new Error(`read ${path}: must be a positive number`);
    return limit;
  });
  return Math.min(...(await Promise.all(limits)));
}

async function readText(fs: MachineFiles, path: string): Promise<string> {
  return new TextDecoder().decode(await fs.readFile(path));
}

/** Returns the size of the file system that contains a directory. */
export async function fileSystemBytes(directory: string): Promise<number> {
  const { blocks, bsize } = await statfs(directory);
  return blocks * bsize;
}
