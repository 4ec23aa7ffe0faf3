import { Quantity, type ResourceList } from '@node-agent/pod-spec';
import type { MachineInfo } from './machine-info.ts';

/** The resources of device plugins (`GetDevicePluginResourceCapacity`). */
export interface DevicePluginResources {
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
  /**
   * Names of the resources whose device plugins are gone. Resources of missing plugins are reported as 0, to
   * distinguish them from resources that the cluster added.
   */
  readonly removed: readonly string[];
}

/** Facts from which the node's capacity is computed. */
export interface CapacityFacts {
  /**
   * Data about the machine; `undefined` if unreadable. The node then reports no CPU and no memory, and gets no pods.
   */
  readonly machine: MachineInfo | undefined;
  /** The size of the file system with the root directory. The size is `undefined` if it is unknown. */
  readonly ephemeralStorageBytes?: number | undefined;
  readonly devicePlugins?: DevicePluginResources | undefined;
}

export interface CapacitySettings {
  readonly maxPods: number;
  /** The maximum number of pods per CPU. 0: no limit other than `maxPods`. */
  readonly podsPerCore: number;
  /** Whether ephemeral storage is reported. */
  readonly localStorageCapacityIsolation: boolean;
}

/**
 * Returns the node's capacity (`nodestatus/setters.go`, MachineInfo). Other resources in `before` are kept, because an
 * administrator may have added them to the node.
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

/** Returns CPU, memory and huge pages of the machine (`cadvisor/util.go`, CapacityFromMachineInfo). */
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
