import type { Clock } from '@node-agent/async';
import type { ImageService, RuntimeService } from '@node-agent/cri-client';
import type { FileSystem, FileSystemSize, KernelFiles } from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';
import type { CgroupTree } from './group-reader.ts';
import type { PodReference } from './summary.ts';

/** Methods of the container runtime that the stats are read with. */
export type StatsCri = Pick<
  RuntimeService & ImageService,
  | 'listPodSandbox'
  | 'listContainers'
  | 'listContainerStats'
  | 'listPodSandboxStats'
  | 'listMetricDescriptors'
  | 'listPodSandboxMetrics'
  | 'podSandboxStatus'
  | 'imageFsInfo'
  | 'listImages'
>;

/** Usage of a pod's volume as last measured by the volume manager; the stats never wait for a measurement. */
export interface VolumeFigures {
  readonly name: string;
  /** Wall-clock time of the measurement. */
  readonly observedAtMs: number;
  /**
   * Whether the volume is on the node's own file system and is deleted with the pod (upstream:
   * `IsLocalEphemeralVolume`).
   */
  readonly isLocalEphemeral: boolean;
  /** PVC of the volume. */
  readonly claim?: { readonly name: string; readonly namespace: string };
  readonly availableBytes?: number;
  readonly capacityBytes?: number;
  readonly usedBytes?: number;
  readonly inodesFree?: number;
  readonly inodes?: number;
  readonly inodesUsed?: number;
  /**
   * Whether the measurement was cut off, so that `usedBytes` and `inodesUsed` are lower bounds. Eviction uses them;
   * `/stats/summary` and the metrics omit them, because readers could not distinguish them from exact values.
   */
  readonly isLowerBound?: boolean;
  /** Whether the volume's driver reports a problem; absent if the driver reports nothing. */
  readonly abnormal?: boolean;
}

/** Dependencies of {@link StatsProvider}. */
export interface StatsComponents {
  readonly cri: StatsCri;
  readonly fs: Pick<FileSystem, 'readFile' | 'readdir' | 'readlink' | 'stat' | 'lstat'>;
  /**
   * Reads the size of the file system at a path. A call may hang; then only the stats of that file system are missing.
   */
  readonly disks: { statfs(path: string, signal?: AbortSignal): Promise<FileSystemSize> };
  /**
   * Detects the machine's cgroups, for example `readHierarchy` of cm-cgroups. The function is called once, and again
   * after a failure.
   */
  readonly cgroups: () => Promise<CgroupTree>;
  /**
   * Reads kernel-generated files synchronously; `nodeKernelFiles` of host implements it. If absent, cgroups and
   * processes are read through `fs`, which costs ten times as much.
   */
  readonly kernelFiles?: KernelFiles;
  /**
   * Measures directory trees, for {@link StatsProvider.measureLayers}. If absent, only the runtime's values of writable
   * layers are known.
   */
  readonly trees?: Pick<FileSystem, 'usage'>;
  /** Returns the usage of a pod's volumes. Default: none. */
  readonly volumeUsage?: (pod: PodReference) => readonly VolumeFigures[];
  /** Clock for timestamps, ages and timeouts. Default: the system clock. */
  readonly clock?: Clock;
  /** Logger for parts of the stats that cannot be read. Default: no logging. */
  readonly logger?: Logger;
}

export interface StatsOptions {
  readonly nodeName: string;
  /** The kubelet's root directory, for example `/var/lib/kubelet`; its file system is the node's. */
  readonly rootDirectory: string;
  /** Directory with the logs of pods, for example `/var/log/pods`. */
  readonly podLogsDirectory: string;
  /**
   * Path of the cgroup of all pods, in the cgroup driver's notation; a function is called each time. Default:
   * `/kubepods`.
   */
  readonly kubepods?: string | (() => string);
  /** Cgroup of the kubelet. Default: the cgroup of this process. */
  readonly kubeletCgroups?: string;
  /** Cgroup of the container runtime. Default: not shown. */
  readonly runtimeCgroups?: string;
  /** Cgroup of all other processes (`misc`). Default: not shown. */
  readonly systemCgroups?: string;
  /**
   * Whether pods' stats are taken from the runtime, if the runtime reports them (`PodAndContainerStatsFromCRI`).
   * Default: false.
   */
  readonly fromRuntime?: boolean;
  /** Maximum age of a collection that is reused for further requests, in ms. Default: 5,000. */
  readonly maxAgeMs?: number;
  /**
   * Timeout of one collection from machine and runtime, in ms. A full summary may take twice as long. Default: 20,000.
   */
  readonly deadlineMs?: number;
}
