/** Response of `/stats/summary`, field by field as `k8s.io/kubelet/pkg/apis/stats/v1alpha1` defines it. */
export interface NodeSummary {
  readonly node: NodeStats;
  readonly pods: readonly PodStats[];
}

/**
 * A time in RFC 3339, in UTC. `null` if the time is unknown. Values in memory have milliseconds, for computations; the JSON on
 * the wire has whole seconds.
 */
export type ApiTime = string | null;

export interface NodeStats {
  readonly nodeName: string;
  /** Cgroups beside those of single pods: `kubelet`, `runtime`, `misc`, and `pods` for all pods together. */
  readonly systemContainers?: readonly ContainerStats[];
  /** Boot time of the machine. */
  readonly startTime: ApiTime;
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  readonly io?: IoStats;
  readonly network?: NetworkStats;
  /** The file system of the kubelet's root directory. */
  readonly fs?: FsStats;
  readonly runtime?: RuntimeStats;
  readonly rlimit?: RlimitStats;
  readonly swap?: SwapStats;
}

export interface RuntimeStats {
  /** The file system of images. `usedBytes` is the size of all images. */
  readonly imageFs?: FsStats;
  /** The file system of the containers' writable layers. */
  readonly containerFs?: FsStats;
}

/** Limit of processes and threads on the machine, and their number. */
export interface RlimitStats {
  readonly time: ApiTime;
  readonly maxpid?: number;
  readonly curproc?: number;
}

export interface PodStats {
  readonly podRef: PodReference;
  readonly startTime: ApiTime;
  readonly containers: readonly ContainerStats[];
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  readonly io?: IoStats;
  readonly network?: NetworkStats;
  readonly volume?: readonly VolumeStats[];
  /** Disk usage of the pod: writable layers, logs, local volumes and the hosts file. */
  readonly 'ephemeral-storage'?: FsStats;
  readonly process_stats?: ProcessStats;
  readonly swap?: SwapStats;
}

export interface PodReference {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
}

export interface ContainerStats {
  readonly name: string;
  readonly startTime: ApiTime;
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  readonly io?: IoStats;
  /** The writable layer. */
  readonly rootfs?: FsStats;
  readonly logs?: FsStats;
  readonly swap?: SwapStats;
}

export interface ProcessStats {
  readonly process_count?: number;
}

export interface InterfaceStats {
  readonly name: string;
  readonly rxBytes?: number;
  readonly rxErrors?: number;
  readonly txBytes?: number;
  readonly txErrors?: number;
}

/** Counters of the default interface, if there is one, and of all interfaces. */
export interface NetworkStats extends Partial<InterfaceStats> {
  readonly time: ApiTime;
  /**
   * Name of the default interface (`eth0`); empty if there is no default interface, as in upstream
   * (`pkg/kubelet/stats/helper.go`).
   */
  readonly name: string;
  readonly interfaces?: readonly InterfaceStats[];
}

export interface CpuStats {
  readonly time: ApiTime;
  /** CPU usage in billionths of a CPU, averaged between the last two readings; absent until there are two readings. */
  readonly usageNanoCores?: number;
  /** CPU time since the cgroup was created. */
  readonly usageCoreNanoSeconds?: number;
  readonly psi?: PsiStats;
}

export interface MemoryStats {
  readonly time: ApiTime;
  /** Memory limit minus working set, in bytes; absent if there is no limit. */
  readonly availableBytes?: number;
  readonly usageBytes?: number;
  /** Usage minus inactive file pages: memory that the kernel cannot reclaim easily. */
  readonly workingSetBytes?: number;
  readonly rssBytes?: number;
  readonly pageFaults?: number;
  readonly majorPageFaults?: number;
  readonly psi?: PsiStats;
}

export interface IoStats {
  readonly time: ApiTime;
  readonly psi?: PsiStats;
}

/** Pressure stall information (PSI) of a resource (KEP-4205). */
export interface PsiStats {
  readonly full: PsiData;
  readonly some: PsiData;
}

export interface PsiData {
  /** Total time in which tasks waited for the resource, in microseconds since boot. */
  readonly total: number;
  /** Percentage of the last 10, 60 and 300 seconds in which tasks waited for the resource. */
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}

export interface SwapStats {
  readonly time: ApiTime;
  readonly swapAvailableBytes?: number;
  readonly swapUsageBytes?: number;
}

export interface FsStats {
  readonly time: ApiTime;
  readonly availableBytes?: number;
  readonly capacityBytes?: number;
  readonly usedBytes?: number;
  readonly inodesFree?: number;
  readonly inodes?: number;
  readonly inodesUsed?: number;
}

export interface VolumeStats extends FsStats {
  readonly name: string;
  readonly pvcRef?: { readonly name: string; readonly namespace: string };
  readonly volumeHealthStats?: { readonly abnormal: boolean };
  /**
   * Whether the volume may use more than `usedBytes` and `inodesUsed`. If true, the JSON on the wire has none of the
   * three fields.
   */
  readonly isLowerBound?: true;
}
