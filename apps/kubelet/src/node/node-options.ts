import { lookup } from 'node:dns/promises';
import { arch, networkInterfaces, uptime } from 'node:os';
import { type FeatureGates, isFeatureName, type KubeletConfiguration, type KubeletFlags } from '@node-agent/config';
import { nodeFileSystem as fs } from '@node-agent/host';
import {
  goArchitecture,
  InterfaceList,
  type NodeFactSources,
  type NodeStatusOptions,
  parseNodeIps,
  type Reservations,
  readMachineInfo,
  readNetworkFacts,
} from '@node-agent/node-status';
import { fileSystemBytes } from '../configuration/node-resources.ts';
import { KUBELET_VERSION } from '../version.ts';

/** Name and resource reservations of this node. */
export interface NodeFacts {
  readonly nodeName: string;
  readonly reservations: Reservations;
}

/** Translates configuration and flags into the options of the node's status. */
export function nodeOptions(
  configuration: KubeletConfiguration,
  flags: KubeletFlags,
  featureGates: FeatureGates,
  { nodeName, reservations }: NodeFacts,
): Omit<NodeStatusOptions, 'nodeName'> {
  return {
    // `--hostname-override` also replaces the hostname in the node's labels and addresses.
    hostname: nodeName,
    kubeletVersion: KUBELET_VERSION,
    architecture: goArchitecture(arch()),
    registerNode: configuration.registerNode,
    nodeLabels: flags.nodeLabels,
    taints: configuration.registerWithTaints,
    providerId: configuration.providerID,
    externalCloudProvider: flags.cloudProvider === 'external',
    enableControllerAttachDetach: configuration.enableControllerAttachDetach,
    nodeIps: parseNodeIps(flags.nodeIp).ips,
    maxPods: configuration.maxPods,
    podsPerCore: configuration.podsPerCore,
    reservations,
    localStorageCapacityIsolation: configuration.localStorageCapacityIsolation,
    maxImages: configuration.nodeStatusMaxImages,
    kubeletPort: configuration.port,
    gateEnabled: declaring(featureGates),
    updateFrequencyMs: configuration.nodeStatusUpdateFrequencyMs,
    reportFrequencyMs: configuration.nodeStatusReportFrequencyMs,
    uptimeMs: uptime() * 1000,
  };
}

/** Returns the sources of the node's status that read the machine. */
export function machineSources(
  flags: KubeletFlags,
  nodeName: string,
): Required<Pick<NodeFactSources, 'machine' | 'network' | 'ephemeralStorageBytes'>> {
  const interfaces = new InterfaceList({ fs, networkInterfaces });
  const { ips } = parseNodeIps(flags.nodeIp);
  return {
    machine: () => readMachineInfo(fs),
    network: () =>
      readNetworkFacts(
        { fs, networkInterfaces: () => interfaces.read(), lookup: addressesOf },
        { nodeName, hostname: nodeName, nodeIps: ips },
      ),
    ephemeralStorageBytes: () => fileSystemBytes(flags.rootDir),
  };
}

async function addressesOf(name: string): Promise<readonly string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address);
}

/**
 * Returns a function that reports whether the node may declare the feature of a gate. A feature that this kubelet does
 * not implement is never declared, whatever the gate's upstream default is.
 */
function declaring(featureGates: FeatureGates): (gate: string) => boolean {
  return (gate) => isFeatureName(gate) && featureGates.effective(gate);
}
