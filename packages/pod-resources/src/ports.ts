import type { Container, Pod } from '@node-agent/pod-spec';

/** Port to the pods of a node. */
export interface PodProvider {
  /** Returns the pods that hold resources of the node. */
  active(): readonly Pod[];
  all(): readonly Pod[];
  byName(namespace: string, name: string): Pod | undefined;
}

/** Port to the devices of a node; package `device-manager` implements it. */
export interface DeviceHoldings {
  /** Frees the devices of pods that are gone. */
  freeGone(): void;
  /** Returns the devices of a container by resource and NUMA node; the node is negative for devices without one. */
  devicesOf(podUid: string, container: string): ReadonlyMap<string, ReadonlyMap<number, readonly string[]>>;
  /** Returns the allocatable devices by resource, allocated or not. */
  allocatableDevices(): ReadonlyMap<string, readonly { readonly id: string; readonly numaNodes: readonly number[] }[]>;
}

/** Port to the ResourceClaims of a node; package `dra` implements it. */
export interface ClaimHoldings {
  /** Returns the devices of a container by claim. */
  dynamicResources(
    pod: Pod,
    container: Container,
  ): readonly {
    readonly claimName: string;
    readonly claimNamespace: string;
    readonly claimResources: readonly {
      readonly cdiDevices: readonly { readonly name: string }[];
      readonly driverName: string;
      readonly poolName: string;
      readonly deviceName: string;
      readonly shareId?: string;
    }[];
  }[];
}

/** Memory of one kind, from any of its NUMA nodes. */
export interface HeldMemory {
  readonly nodes: readonly number[];
  /** `memory` or `hugepages-<size>`. */
  readonly resource: string;
  readonly bytes: number;
}

/** Port to the exclusive CPUs and the memory of containers; package `cm-resources` implements it. */
export interface ResourceHoldings {
  /** Returns the exclusive CPUs of a container; empty if it has none. */
  exclusiveCpusOf(podUid: string, container: string): readonly number[];
  /** Returns the memory of a container; empty if it has none of its own. */
  memoryOf(podUid: string, container: string): readonly HeldMemory[];
  /** Returns the CPUs that containers can have exclusively, in use or not. */
  allocatableCpus(): readonly number[];
  /** Returns the memory that containers can have, in use or not. */
  allocatableMemory(): readonly HeldMemory[];
}
