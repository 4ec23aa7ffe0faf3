import { parseResourceList, type ResourceList } from '@node-agent/pod-spec';
import { type CpuOptionGates, checkCpuOptions, parseCpuOptions } from '../cpu/cpu-options.ts';
import { StaticCpus } from '../cpu/static-cpus.ts';
import { CpuSet } from '../cpuset/cpu-set.ts';
import { ContainerResourcesError } from '../errors.ts';
import { CpuTopology } from '../machine/cpu-topology.ts';
import type { MachineTopology } from '../machine/machine-topology.ts';
import type { MemoryState } from '../memory/memory-state.ts';
import { memoryReservation, type NumaMemoryReservation } from '../memory/reserved-memory.ts';
import { unusedMemory } from '../memory/starting-memory.ts';
import { parseTopologyOptions, type TopologyPolicyName, type TopologyScope } from '../topology/topology-options.ts';
import { type TopologyPolicy, topologyPolicy } from '../topology/topology-policy.ts';

/** Policies of the node, with the names and values of the kubelet's configuration. */
export interface PolicyOptions {
  /** CPU manager policy (`cpuManagerPolicy`). Default: `none`. */
  readonly cpuManagerPolicy?: 'none' | 'static';
  /** Options of the CPU manager policy (`cpuManagerPolicyOptions`). Default: no options. */
  readonly cpuManagerPolicyOptions?: Readonly<Record<string, string>>;
  /** Feature gates of the CPU manager options that are not GA. Default: alpha options off, beta options on. */
  readonly cpuOptionGates?: CpuOptionGates;
  /** Gate `PodLevelResourceManagers`. Default: false. */
  readonly podLevelResourceManagers?: boolean;
  /** `reservedSystemCPUs`, such as `0-1,6`. Default: none; as many CPUs as `nodeReservation` has are chosen. */
  readonly reservedSystemCPUs?: string;
  /** Memory manager policy (`memoryManagerPolicy`). Default: `None`. */
  readonly memoryManagerPolicy?: 'None' | 'Static';
  /** Memory that is reserved on each NUMA node (`reservedMemory`). Default: no reservation. */
  readonly reservedMemory?: readonly NumaMemoryReservation[];
  /** Topology manager policy (`topologyManagerPolicy`). Default: `none`. */
  readonly topologyManagerPolicy?: TopologyPolicyName;
  /** Unit that is aligned (`topologyManagerScope`). Default: `container`. */
  readonly topologyManagerScope?: TopologyScope;
  /** Options of the topology manager policy (`topologyManagerPolicyOptions`). Default: no options. */
  readonly topologyManagerPolicyOptions?: Readonly<Record<string, string>>;
  /**
   * Quantities that the node reserves of each resource: `kubeReserved`, `systemReserved` and hard eviction thresholds
   * together. Default: none.
   */
  readonly nodeReservation?: Readonly<Record<string, string>>;
}

/** Rules of the policies that are on. */
export interface Policies {
  /** Rules of the static CPU policy; `undefined` with the policy `none`. */
  readonly cpus: StaticCpus | undefined;
  /** Memory of the machine when none of it is allocated to a container; `undefined` with the policy `None`. */
  readonly unusedMemory: MemoryState['nodes'] | undefined;
  readonly topology: TopologyPolicy;
  readonly scope: TopologyScope;
  /** Whether the gate `PodLevelResourceManagers` is on. */
  readonly podLevel: boolean;
}

/**
 * Creates the rules.
 * @param machine CPUs and memory; may be absent if all policies are off
 * @throws ContainerResourcesError `InvalidOptions`
 */
export function policiesOf(options: PolicyOptions, machine: MachineTopology = { nodes: [] }): Policies {
  const reservation = parseResourceList(options.nodeReservation);
  const { topologyManagerPolicy = 'none', topologyManagerScope: scope = 'container' } = options;
  const topologyOptions = parseTopologyOptions(
    topologyManagerPolicy === 'none' ? {} : options.topologyManagerPolicyOptions,
  );
  return {
    topology: topologyPolicy(topologyManagerPolicy, machine.nodes, topologyOptions),
    scope,
    podLevel: options.podLevelResourceManagers ?? false,
    cpus: staticCpus(options, topologyManagerPolicy, reservation, machine),
    unusedMemory:
      options.memoryManagerPolicy === 'Static'
        ? unusedMemory(machine, memoryReservation(machine, reservation, options.reservedMemory ?? []))
        : undefined,
  };
}

function staticCpus(
  policyOptions: PolicyOptions,
  topologyPolicyName: TopologyPolicyName,
  reservation: ResourceList,
  machine: MachineTopology,
): StaticCpus | undefined {
  const { cpuManagerPolicy = 'none', cpuManagerPolicyOptions = {}, cpuOptionGates } = policyOptions;
  const { reservedSystemCPUs = '', podLevelResourceManagers: podLevel = false } = policyOptions;
  if (cpuManagerPolicy === 'none') {
    const given = Object.entries(cpuManagerPolicyOptions).map(([name, value]) => `${name}:${value}`);
    if (given.length === 0) return undefined;
    const problem = `None policy: received unsupported options=map[${given.sort().join(' ')}]`;
    throw new ContainerResourcesError('InvalidOptions', `new none policy error: ${problem}`);
  }
  if (reservedSystemCPUs === '' && !reservation.has('cpu')) {
    const problem = '[cpumanager] unable to determine reserved CPU resources for static policy';
    throw new ContainerResourcesError('InvalidOptions', problem);
  }
  const topology = new CpuTopology(machine);
  const options = parseCpuOptions(cpuManagerPolicyOptions, cpuOptionGates);
  checkCpuOptions(options, topology, topologyPolicyName);
  const cpus = CpuSet.parse(reservedSystemCPUs);
  const milliCpus = cpus.isEmpty ? (reservation.get('cpu')?.milliValue() ?? 0n) : BigInt(cpus.size) * 1000n;
  return new StaticCpus(topology, options, { milliCpus, cpus }, podLevel);
}
