import type { ContainerResourcesOptions } from '@node-agent/cm-resources';
import type { NumaPlan, NumaPolicies } from '../scenario/numa-plans.ts';

/** CPU that is reserved for the system. */
export const RESERVED_CPU = 0;
const RESERVED_MEMORY = '8Mi';
const HUGE_PAGE_BYTES = 2 ** 21;
const MI = 2 ** 20;

type Machine = NonNullable<ContainerResourcesOptions['machine']>;

/**
 * Returns the CPUs and memory of a machine. The CPU numbers start with the first threads of all cores, as on real
 * machines.
 */
function machineOf(plan: NumaPlan): Machine {
  const { numaNodes, sockets, coresPerNode, threads, offline } = plan;
  const cores = numaNodes * coresPerNode;
  const cpusOf = (core: number): readonly number[] =>
    Array.from({ length: threads }, (_, thread) => core + thread * cores).filter((cpu) => !offline.includes(cpu));
  const ids = Array.from({ length: numaNodes }, (_, id) => id);
  const nodes = ids.map((id) => ({
    id,
    cores: Array.from({ length: coresPerNode }, (_, index) => ({
      socketId: Math.floor((id * sockets) / numaNodes),
      cpus: cpusOf(id * coresPerNode + index),
    })).filter(({ cpus }) => cpus.length > 0),
    memoryBytes: plan.memoryMiPerNode * MI,
    hugePages: [{ pageSizeBytes: HUGE_PAGE_BYTES, count: plan.hugePagesPerNode }],
    distances: new Map(ids.map((other) => [other, 10 + 11 * Math.abs(other - id)] as const)),
  }));
  return { nodes };
}

/** Returns the online CPUs of each NUMA node. */
export function cpusOfNodes(plan: NumaPlan): readonly (readonly number[])[] {
  return machineOf(plan).nodes.map(({ cores }) => cores.flatMap(({ cpus }) => cpus));
}

/** Returns the kubelet's settings for these policies. */
export function managerSettings(plan: NumaPlan, policies: NumaPolicies): Omit<ContainerResourcesOptions, 'directory'> {
  return {
    machine: machineOf(plan),
    cpuManagerPolicy: policies.cpu,
    cpuManagerPolicyOptions: policies.cpuOptions,
    cpuOptionGates: { alpha: true, beta: true },
    reservedSystemCPUs: String(RESERVED_CPU),
    memoryManagerPolicy: policies.memory,
    ...(policies.memory === 'Static' && {
      reservedMemory: [{ numaNode: 0, limits: { memory: RESERVED_MEMORY } }],
    }),
    nodeReservation: { cpu: '1', memory: RESERVED_MEMORY },
    topologyManagerPolicy: policies.topology,
    topologyManagerScope: policies.scope,
    podLevelResourceManagers: policies.podLevel ?? false,
  };
}
