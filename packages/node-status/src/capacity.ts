import { Quantity, type ResourceList } from '@node-agent/pod-spec';
import type { MachineInfo } from './machine-info.ts';

/** What device plugins have, by resource (`GetDevicePluginResourceCapacity`). */
export interface DevicePluginResources {
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
  /** Resources of plugins that went away: shown as 0, so that they are told from those of the cluster. */
  readonly removed: readonly string[];
}

/** What a node's capacity is made of. */
export interface CapacityFacts {
  /** `undefined` where it could not be read: the node has no CPU and no memory then, and takes no pod. */
  readonly machine: MachineInfo | undefined;
  /** The size of the file system with the root directory; `undefined` where unknown. */
  readonly ephemeralStorageBytes?: number | undefined;
  readonly devicePlugins?: DevicePluginResources | undefined;
}

export interface CapacitySettings {
  readonly maxPods: number;
  /** 0: no limit beside `maxPods`. */
  readonly podsPerCore: number;
  /** Whether ephemeral storage is counted. */
  readonly localStorageCapacityIsolation: boolean;
}

/**
 * The node's capacity (`nodestatus/setters.go`, MachineInfo). What `before` has beside the resources that are known here stays:
 * an administrator may have added resources to the node by hand.
 */
export function nodeCapacity(before: ResourceList, facts: CapacityFacts, settings: CapacitySettings): ResourceList {
  const { machine, ephemeralStorageBytes, devicePlugins } = facts;
  const capacity = new Map(before);
  if (machine === undefined) {
    capacity.set('cpu', Quantity.zero).set('memory', Quantity.zero).set('pods', Quantity.of(settings.maxPods));
    return capacity;
  }
  for (const [name, quantity] of machineCapacity(machine)) capacity.set(name, quantity);
  capacity.set('pods', Quantity.of(podCapacity(machine.cpuCount, settings)));
  if (settings.localStorageCapacityIsolation && ephemeralStorageBytes !== undefined) {
    capacity.set('ephemeral-storage', Quantity.of(Math.trunc(ephemeralStorageBytes), 'BinarySI'));
  }
  for (const [name, quantity] of devicePlugins?.capacity ?? []) capacity.set(name, quantity);
  for (const name of devicePlugins?.removed ?? []) capacity.set(name, Quantity.zero);
  return capacity;
}

function podCapacity(cpuCount: number, { maxPods, podsPerCore }: CapacitySettings): number {
  return podsPerCore > 0 ? Math.min(cpuCount * podsPerCore, maxPods) : maxPods;
}

/** CPU, memory and huge pages of the machine (`cadvisor/util.go`, CapacityFromMachineInfo). */
export function machineCapacity({ cpuCount, memoryBytes, hugePages }: MachineInfo): ResourceList {
  return new Map([
    ['cpu', Quantity.ofMilli(cpuCount * 1000)],
    ['memory', Quantity.of(memoryBytes, 'BinarySI')],
    ...hugePages.map(({ pageSizeBytes, count }) => {
      const name = `hugepages-${Quantity.of(pageSizeBytes, 'BinarySI')}`;
      return [name, Quantity.of(BigInt(pageSizeBytes) * BigInt(count), 'BinarySI')] as const;
    }),
  ]);
}
