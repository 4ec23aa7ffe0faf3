import type { Pod } from '@node-agent/pod-spec';

/** The pods of a node. */
export interface PodProvider {
  /** Those that hold resources of the node. */
  active(): readonly Pod[];
  all(): readonly Pod[];
  byName(namespace: string, name: string): Pod | undefined;
}

/** Who knows the devices of a node: package `device-manager`. */
export interface DeviceHoldings {
  /** What is held by pods that are gone is free again. */
  freeGone(): void;
  /** The devices that a container holds: by resource, and by NUMA node, which is below 0 where there is none. */
  devicesOf(podUid: string, container: string): ReadonlyMap<string, ReadonlyMap<number, readonly string[]>>;
  /** The devices that containers may be given, held or not, by resource. */
  allocatableDevices(): ReadonlyMap<string, readonly { readonly id: string; readonly numaNodes: readonly number[] }[]>;
}
