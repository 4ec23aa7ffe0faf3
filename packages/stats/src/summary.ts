/** What a node tells of its use: the answer of `/stats/summary` (`k8s.io/kubelet/pkg/apis/stats/v1alpha1`), field by field. */
export interface NodeSummary {
  readonly node: NodeStats;
  readonly pods: readonly PodStats[];
}

/**
 * A time as the API has it: RFC 3339, in UTC; `null` where it is not known. Here with milliseconds, for whoever computes with
 * it; on the wire with whole seconds ({@link summaryJson}).
 */
export type ApiTime = string | null;

export interface NodeStats {
  readonly nodeName: string;
  /** Groups of processes that are no pods: `kubelet`, `runtime`, `misc`, and `pods` for all pods together. */
  readonly systemContainers?: readonly ContainerStats[];
  /** When the machine was booted. */
  readonly startTime: ApiTime;
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  readonly io?: IoStats;
  readonly network?: NetworkStats;
  /** The file system of the kubelet's directory. */
  readonly fs?: FsStats;
  readonly runtime?: RuntimeStats;
  readonly rlimit?: RlimitStats;
  readonly swap?: SwapStats;
}

export interface RuntimeStats {
  /** Where images are; `usedBytes` is what images use. */
  readonly imageFs?: FsStats;
  /** Where the writable layers of containers are. */
  readonly containerFs?: FsStats;
}

/** How many processes and threads the machine may have, and has. */
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
  /** What the pod uses of the node's file system: its containers' layers and logs, local volumes, its hosts file. */
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

/** The default interface, where there is one of that name, and all of them. */
export interface NetworkStats extends Partial<InterfaceStats> {
  readonly time: ApiTime;
  /** Empty where none of the interfaces is the default one (`eth0`), as upstream writes it. */
  readonly name: string;
  readonly interfaces?: readonly InterfaceStats[];
}

export interface CpuStats {
  readonly time: ApiTime;
  /** Billionths of a CPU, over the interval between two readings; absent until there are two. */
  readonly usageNanoCores?: number;
  /** Since the group was made. */
  readonly usageCoreNanoSeconds?: number;
  readonly psi?: PsiStats;
}

export interface MemoryStats {
  readonly time: ApiTime;
  /** Of the limit, less the working set; absent where there is no limit. */
  readonly availableBytes?: number;
  readonly usageBytes?: number;
  /** What cannot be taken back without harm: the use, less inactive pages of files. */
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

/** Pressure stall information (KEP-4205). */
export interface PsiStats {
  readonly full: PsiData;
  readonly some: PsiData;
}

export interface PsiData {
  /** Microseconds. */
  readonly total: number;
  /** Percent of the last 10, 60 and 300 s. */
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
  /** Whether it uses more than `usedBytes` and `inodesUsed`, which are not on the wire then; nor is this. */
  readonly isLowerBound?: true;
}

/** A time of the wall clock as the API has it. @param ms since the Unix epoch; 0 and less: unknown */
export function apiTime(ms: number | undefined): ApiTime {
  if (ms === undefined || !(ms > 0) || ms > MAX_TIME_MS) return null;
  return new Date(ms).toISOString();
}

/** The end of the year 9999: no later time has four digits of a year, and some that a runtime may tell are no dates at all. */
const MAX_TIME_MS = 253_402_300_799_999;

/**
 * A summary as `/stats/summary` sends it. A number that no count can be is left out, whoever told it: its readers take 64 bits
 * without a sign, and one that is not would cost them the whole answer.
 */
export function summaryJson(summary: NodeSummary): string {
  return JSON.stringify(summary, (key, value: unknown) => {
    if (typeof value === 'number') return isReadable(value) ? value : undefined;
    if (key === 'volume' && Array.isArray(value)) return value.map(knownOfVolume);
    return (key === 'time' || key === 'startTime') && typeof value === 'string' ? `${value.slice(0, 19)}Z` : value;
  });
}

/** Without what is known in part. */
function knownOfVolume(volume: VolumeStats): VolumeStats {
  if (!volume.isLowerBound) return volume;
  const { usedBytes: _bytes, inodesUsed: _inodes, isLowerBound, ...known } = volume;
  return known;
}

/** What is below 0 or has more than 63 bits is a counter of somebody's that went below 0. */
function isReadable(value: number): boolean {
  return value >= 0 && value < 2 ** 63;
}
