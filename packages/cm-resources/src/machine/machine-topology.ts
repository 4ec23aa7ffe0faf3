/** Huge pages of one size on a NUMA node. */
export interface NodeHugePages {
  readonly pageSizeBytes: number;
  readonly count: number;
}

/** A physical core that has at least one CPU online. */
export interface MachineCore {
  /** Id of the socket, which the kernel calls the physical package. */
  readonly socketId: number;
  /** Online CPUs (hardware threads) of the core. */
  readonly cpus: readonly number[];
  /**
   * Id of the cache of level 3 or higher that only a part of the NUMA node's CPUs shares; `undefined` if all of them
   * share the cache.
   */
  readonly uncoreCacheId?: number;
}

/** A NUMA node: CPUs, and the memory that is local to them. */
export interface NumaNode {
  readonly id: number;
  /** Cores with online CPUs; empty for a node that has only memory. */
  readonly cores: readonly MachineCore[];
  /** Memory of the node in bytes; 0 if the kernel does not report memory per node. */
  readonly memoryBytes: number;
  readonly hugePages: readonly NodeHugePages[];
  /** Distance to each node, by node id; `undefined` if the kernel does not report distances. */
  readonly distances?: ReadonlyMap<number, number>;
}

/** CPUs and memory of a machine, as cAdvisor reports them to upstream (`MachineInfo.Topology`). */
export interface MachineTopology {
  /** The machine's NUMA nodes, sorted by id. */
  readonly nodes: readonly NumaNode[];
}
