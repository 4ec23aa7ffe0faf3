import type { Clock } from '@node-agent/async';
import type { ImageService, RuntimeService } from '@node-agent/cri-client';
import type { FileSystem, FileSystemSize, KernelFiles } from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';
import type { CgroupTree } from './group-reader.ts';
import type { PodReference } from './summary.ts';

/** What is asked of the container runtime. */
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

/** What one volume of a pod uses, as whoever mounts volumes has last found out: nobody waits for that here. */
export interface VolumeFigures {
  readonly name: string;
  /** When it was looked at, by the wall clock. */
  readonly observedAtMs: number;
  /** Whether it lies on the node's own file system and goes with the pod (`IsLocalEphemeralVolume`). */
  readonly isLocalEphemeral: boolean;
  /** The claim that it is for. */
  readonly claim?: { readonly name: string; readonly namespace: string };
  readonly availableBytes?: number;
  readonly capacityBytes?: number;
  readonly usedBytes?: number;
  readonly inodesFree?: number;
  readonly inodes?: number;
  readonly inodesUsed?: number;
  /**
   * Whether counting what it uses was cut off: it uses no less than `usedBytes` and `inodesUsed`. Eviction goes by them;
   * `/stats/summary` and the metrics have neither, since nobody there could tell them from what it uses.
   */
  readonly isLowerBound?: boolean;
  /** Whether its driver says that something is wrong with it; absent where it does not say. */
  readonly abnormal?: boolean;
}

/** What a {@link StatsProvider} is made from. */
export interface StatsComponents {
  readonly cri: StatsCri;
  readonly fs: Pick<FileSystem, 'readFile' | 'readdir' | 'readlink' | 'stat' | 'lstat'>;
  /** How large the file system at a path is; it may hang, and then only its own figures are missing. */
  readonly disks: { statfs(path: string, signal?: AbortSignal): Promise<FileSystemSize> };
  /** Where the machine has its cgroups; asked once, and again where that failed. `readHierarchy` of cm-cgroups is one. */
  readonly cgroups: () => Promise<CgroupTree>;
  /**
   * Looks at files that the kernel makes from its own memory, at once: `nodeKernelFiles` of host. Where absent, groups and processes
   * are looked at by `fs`, at ten times the cost.
   */
  readonly kernelFiles?: KernelFiles;
  /** Measures trees: writable layers, for {@link StatsProvider.measureLayers}. Where absent what the runtime tells of them is all that is known. */
  readonly trees?: Pick<FileSystem, 'usage'>;
  /** What the volumes of a pod use. None where absent. */
  readonly volumeUsage?: (pod: PodReference) => readonly VolumeFigures[];
  /** Default: the machine's. */
  readonly clock?: Clock;
  /** Default: silent. */
  readonly logger?: Logger;
}

export interface StatsOptions {
  readonly nodeName: string;
  /** The kubelet's directory, whose file system is the node's: `/var/lib/kubelet`. */
  readonly rootDirectory: string;
  /** `/var/log/pods`. */
  readonly podLogsDirectory: string;
  /** The group that all pods are in, as the cgroup driver names it: asked each time where that is not known from the start. Default: `/kubepods`. */
  readonly kubepods?: string | (() => string);
  /** The group of the kubelet itself; by default the one that this process is in. */
  readonly kubeletCgroups?: string;
  /** The group of the container runtime. Default: not shown. */
  readonly runtimeCgroups?: string;
  /** The group of everything else (`misc`). Default: not shown. */
  readonly systemCgroups?: string;
  /** Whether pods' figures are the runtime's own, where it has any (`PodAndContainerStatsFromCRI`). Default: false. */
  readonly fromRuntime?: boolean;
  /** How old a collection may be that serves another who asks, in ms; 5 s by default. */
  readonly maxAgeMs?: number;
  /** How long one look at the machine and the runtime may take, in ms; 20 s by default. A whole summary may take twice that. */
  readonly deadlineMs?: number;
}
