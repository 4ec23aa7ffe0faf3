/** What eviction reads of a node's statistics: a part of `Summary` of stats/v1alpha1, by its names on the wire. Counts are whole numbers. */
export interface NodeSummary {
  readonly node: NodeStats;
  readonly pods: readonly PodStats[];
}

export interface NodeStats {
  readonly systemContainers?: readonly ContainerStats[];
  readonly memory?: MemoryStats;
  /** The file system of the kubelet's own directory. */
  readonly fs?: FsStats;
  readonly runtime?: { readonly imageFs?: FsStats; readonly containerFs?: FsStats };
  readonly rlimit?: { readonly time: string | null; readonly maxpid?: number; readonly curproc?: number };
}

export interface PodStats {
  readonly podRef: { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly containers?: readonly ContainerStats[];
  readonly memory?: MemoryStats;
  readonly volume?: readonly (FsStats & { readonly name?: string })[];
  readonly 'ephemeral-storage'?: FsStats;
  readonly process_stats?: { readonly process_count?: number };
}

export interface ContainerStats {
  readonly name: string;
  readonly memory?: MemoryStats;
  readonly rootfs?: FsStats;
  readonly logs?: FsStats;
}

export interface MemoryStats {
  /** RFC 3339; `null` where it is not known. */
  readonly time: string | null;
  readonly availableBytes?: number;
  readonly usageBytes?: number;
  readonly workingSetBytes?: number;
}

export interface FsStats {
  /** RFC 3339; `null` where it is not known. */
  readonly time: string | null;
  readonly availableBytes?: number;
  readonly capacityBytes?: number;
  readonly usedBytes?: number;
  readonly inodesFree?: number;
  readonly inodes?: number;
  readonly inodesUsed?: number;
}

/** Whether a figure is one at all: there, and a whole number that is not negative. */
export function isCount(value: number | undefined): value is number {
  return value !== undefined && Number.isSafeInteger(value) && value >= 0;
}
