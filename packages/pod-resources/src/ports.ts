import type { Container, Pod } from '@node-agent/pod-spec';

/** Methods through which the server sees the pods of a node. */
export interface PodProvider {
  /** Returns the pods that hold resources of the node. */
  active(): readonly Pod[];
  all(): readonly Pod[];
}

/** Methods through which the server sees the devices of a node. Package `device-manager` implements these methods. */
export interface DeviceHoldings {
  /** Frees the devices of pods that are gone. */
  freeGone(): void;
  /**
   * Returns the devices of a container by resource and NUMA node id. The id is negative for devices without a NUMA
   * node.
   */
  devicesOf(podUid: string, container: string): ReadonlyMap<string, ReadonlyMap<number, readonly string[]>>;
  /** Returns all allocatable devices by resource, whether allocated or not. */
  allocatableDevices(): ReadonlyMap<string, readonly { readonly id: string; readonly numaNodes: readonly number[] }[]>;
}

/** Methods through which the server sees the ResourceClaims of a node. Package `dra` implements these methods. */
export interface ClaimHoldings {
  /** Returns the devices that a container gets from ResourceClaims, by claim. */
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

/** Memory of one resource that a container has. The memory may come from any of the NUMA nodes in `nodes`. */
export interface HeldMemory {
  readonly nodes: readonly number[];
  /** Name of the resource: `memory` or `hugepages-<size>`. */
  readonly resource: string;
  readonly bytes: number;
}

/**
 * Methods through which the server sees the exclusive CPUs and the memory of containers. Package `cm-resources`
 * implements these methods.
 */
export interface ResourceHoldings {
  /** Returns the exclusive CPUs of a container; empty if the container has none. */
  exclusiveCpusOf(podUid: string, container: string): readonly number[];
  /** Returns the memory of a container; empty if no memory is allocated to the container. */
  memoryOf(podUid: string, container: string): readonly HeldMemory[];
  /** Returns all CPUs that containers can get exclusively, whether in use or not. */
  allocatableCpus(): readonly number[];
  /** Returns all memory that containers can get, whether in use or not. */
  allocatableMemory(): readonly HeldMemory[];
}
