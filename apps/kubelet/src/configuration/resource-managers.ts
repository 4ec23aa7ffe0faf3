import { readMachineTopology, type TopologyFiles } from '@node-agent/cm-resources';
import type { FeatureGates, KubeletConfiguration } from '@node-agent/config';
import type { AssemblySettings } from '@node-agent/kubelet-assembly';
import { formatResourceList, type ResourceList } from '@node-agent/pod-spec';

type ResourceManagerSettings = NonNullable<AssemblySettings['resourceManagers']>;

/**
 * Returns the settings of the CPU, memory and topology managers. The machine's topology is read only if a policy needs
 * it.
 * @param reservation reserved quantity of each resource of the node
 * @throws ContainerResourcesError `TopologyUnreadable`
 */
export async function resourceManagerSettings(
  configuration: KubeletConfiguration,
  gates: FeatureGates,
  fs: TopologyFiles,
  reservation: ResourceList,
): Promise<ResourceManagerSettings> {
  const { cpuManagerPolicy, memoryManagerPolicy, topologyManagerPolicy, topologyManagerScope } = configuration;
  const isOff = cpuManagerPolicy === 'none' && memoryManagerPolicy === 'None' && topologyManagerPolicy === 'none';
  return {
    ...(!isOff && { machine: await readMachineTopology(fs) }),
    ...{ cpuManagerPolicy, memoryManagerPolicy, topologyManagerPolicy, topologyManagerScope },
    cpuManagerPolicyOptions: configuration.cpuManagerPolicyOptions,
    cpuOptionGates: {
      alpha: gates.enabled('CPUManagerPolicyAlphaOptions'),
      beta: gates.enabled('CPUManagerPolicyBetaOptions'),
    },
    podLevelResourceManagers: gates.enabled('PodLevelResourceManagers'),
    reconcilePeriodMs: configuration.cpuManagerReconcilePeriodMs,
    reservedSystemCPUs: configuration.reservedSystemCPUs,
    reservedMemory: configuration.reservedMemory,
    topologyManagerPolicyOptions: configuration.topologyManagerPolicyOptions,
    nodeReservation: formatResourceList(reservation),
    noQuotaWithExclusiveCpus: gates.enabled('DisableCPUQuotaWithExclusiveCPUs'),
  };
}
