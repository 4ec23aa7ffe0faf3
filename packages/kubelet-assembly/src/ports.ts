import type { PodFeaturesOptions, PredicateHandlerOptions, SysctlOptions } from '@node-agent/admission';
import type { ResizeNode } from '@node-agent/allocation';
import type { Clock, Random } from '@node-agent/async';
import type { CgroupDriver, CgroupManager, PodCgroupsOptions } from '@node-agent/cm-cgroups';
import type { CriClient, ImageService, RuntimeService } from '@node-agent/cri-client';
import type { DeviceManagerComponents, DeviceManagerOptions } from '@node-agent/device-manager';
import type { EvictionOptions, EvictionStats, Gauge } from '@node-agent/eviction';
import type { FileSystem } from '@node-agent/host';
import type { ImageGcComponents, ImageGcPolicy } from '@node-agent/image-gc';
import type { PullCredentials, VerificationPolicy } from '@node-agent/images';
import type { AdmitHandler, BackgroundService, Dependencies, PodSyncer } from '@node-agent/kubelet-core';
import type { LifecycleHooksComponents } from '@node-agent/lifecycle-hooks';
import type { NodeShutdownComponents, PriorityGracePeriod } from '@node-agent/node-shutdown';
import type { OomWatcherComponents } from '@node-agent/oom-watcher';
import type { PodSourceInput } from '@node-agent/pod-config';
import type { RestartFeatures } from '@node-agent/pod-spec';
import type { ProbePorts } from '@node-agent/prober';
import type { BackOffLimits, NodeSettings } from '@node-agent/runtime';
import type { StatsComponents, StatsOptions } from '@node-agent/stats';
import type { EventRecorder, Logger, Metrics } from '@node-agent/telemetry';
import type { UserNamespacesOptions } from '@node-agent/userns';
import type { HostPathFiles, LocalDevices, LocalVolumeFiles, Mounter, SubPathForeignFiles } from '@node-agent/volumes';
import type { ClusterPart } from './cluster-part.ts';

/** The world outside of a kubelet: everything that it does to a machine goes through these. */
export interface NodePorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Behind `/metrics/probes`, a registry of its own as upstream's is: it has a series per container. Not counted where absent. */
  readonly probeMetrics?: Metrics;
  /** How probes reach pods; over the machine's network where absent. Commands are run by `cri`. */
  readonly probePorts?: Omit<ProbePorts, 'exec'>;
  /** How the requests of lifecycle hooks are sent; over the machine's network where absent. */
  readonly hookHttp?: LifecycleHooksComponents['http'];
  readonly recorder: EventRecorder;
  readonly cri: RuntimeService & ImageService & Partial<Pick<CriClient, 'listContainerStates'>>;
  readonly fs: FileSystem;
  /** Files of file systems that may never answer: host paths, local volumes. */
  readonly foreignFiles: HostPathFiles & SubPathForeignFiles & LocalVolumeFiles;
  readonly mounter: Mounter;
  /** Mounts disks of the machine; absent: claims of local volumes are refused by name. */
  readonly localDevices?: LocalDevices;
  /** How device plugins and the kubelet reach each other; gRPC on unix sockets where absent. */
  readonly deviceTransport?: NonNullable<DeviceManagerComponents['transport']>;
  /** Gives directories that plugins use the label by which containers may use them, on a node with SELinux. */
  readonly labelForContainers?: NonNullable<DeviceManagerComponents['labelForContainers']>;
  /** How large file systems are, and how much of them is free; where absent, unused images stay. */
  readonly disks?: ImageGcComponents['disks'];
  /** Measures the node and its pods for eviction; that of `stats` where absent, and without either no pod is evicted. */
  readonly statistics?: EvictionStats;
  /** What is looked at between two measurements, so that a lack of memory is noticed at once; disks are, by those of `stats`. */
  readonly gauges?: readonly Gauge[];
  /** What the figures of node and pods are read by, beside the runtime and files; where absent, there are none. */
  readonly stats?: Pick<StatsComponents, 'cgroups' | 'disks' | 'kernelFiles'>;
  /** The kernel log, and by its clock how long the machine is up; absent: kills of the OOM killer are not told. */
  readonly kernelLog?: Pick<OomWatcherComponents, 'open' | 'uptimeMs'>;
  /** What tells of the machine's shutdown and delays it; absent: the machine does not wait for pods. */
  readonly shutdown?: Pick<NodeShutdownComponents, 'logind' | 'inhibitor'>;
  /** Opens the cgroups of the machine. Absent: the runtime chooses where pods are. */
  readonly openCgroups?: (driver: CgroupDriver) => Promise<CgroupManager>;
  /** Where the node is one of a cluster: what `clusterPart` of the entry point `./cluster` makes. */
  readonly cluster?: ClusterPart;
  /** What images are pulled with where there is no cluster, which would say so itself. */
  readonly pullCredentials?: PullCredentials;
  /** Told how many pods the node has, mirror pods left out, whenever that is another number than before; nobody is where absent. */
  readonly onPodCountChanged?: (pods: number) => void;
}

/** Where pods come from: made around the function by which it speaks. */
export interface PodSourcePort {
  readonly name: 'file' | 'http' | 'api';
  readonly make: (set: PodSourceInput) => Pick<BackgroundService, 'start'>;
}

/** How a kubelet is set. Directories are absolute; the defaults are upstream's. */
export interface AssemblySettings<C = unknown> {
  /** What the program was configured with, for `getConfiguration`. */
  readonly configuration: C;
  /** The servers that there are, each made around the kubelet. */
  readonly servers: NonNullable<Dependencies['servers']>;
  readonly nodeName: string;
  /** Primary first. */
  readonly nodeIps: readonly string[];
  /** The kubelet's own directory, `/var/lib/kubelet`. */
  readonly rootDirectory: string;
  /** Where links to container logs are for collectors: `/var/log/containers`. */
  readonly containerLogsDirectory: string;
  /** What sandboxes and containers are made by. */
  readonly node: NodeSettings;
  /** The labels of the node where no API server has told them. */
  readonly nodeLabels?: Readonly<Record<string, string>>;
  /**
   * What pods may use of the node, where no API server has told it: pods are admitted against it, and the downward API shows
   * it as the limits of a container without. Nothing is asked for, and 0 is shown, where it is absent.
   */
  readonly nodeAllocatable?: Readonly<Record<string, string>>;
  readonly sources: readonly PodSourcePort[];
  readonly admission?: PredicateHandlerOptions & {
    /** No kernel is known and nothing unsafe is allowed by default. */
    readonly sysctls?: SysctlOptions;
    /** Whether the kernel has AppArmor; true by default. */
    readonly appArmor?: boolean;
    /** What pods may ask of the kubelet itself; everything by default. */
    readonly features?: PodFeaturesOptions;
  };
  /** Asked after the handlers that every node has. */
  readonly admitHandlers?: readonly AdmitHandler[];
  readonly dns: {
    readonly resolvConfPath: string;
    readonly clusterDns: readonly string[];
    readonly clusterDomain: string;
    /** Gate HostnameOverride; true by default. */
    readonly hostnameOverride?: boolean;
  };
  /** The range of pod addresses of a node whose API server has none for it; none where absent. */
  readonly podCidr?: string;
  readonly syncFrequencyMs: number;
  readonly backOff: BackOffLimits;
  /** Which gates that bear on restarts are on; both where absent. */
  readonly restartFeatures?: RestartFeatures;
  /** What decides whether running pods can be resized; upstream's defaults where absent. */
  readonly resize?: ResizeNode;
  readonly pulls: {
    readonly serialize: boolean;
    readonly maxParallel: number | undefined;
    readonly qps: number;
    readonly burst: number;
    /** Which images that are present pods have to show that they may use; none, and no pull is recorded, where absent. */
    readonly verification?: { readonly policy: VerificationPolicy; readonly allowlist: readonly string[] };
  };
  readonly logs: {
    /** Below 0: logs are not rotated. */
    readonly maxSizeBytes: number;
    readonly maxFiles: number;
    readonly maxWorkers: number;
    readonly monitorIntervalMs: number;
  };
  /** By default from 85 % of the disk down to 80 %, nothing that is younger than 2 min, and nothing for its age alone. */
  readonly imageGc?: Partial<ImageGcPolicy>;
  /** When pods are evicted, where the node is measured; never where absent. */
  readonly eviction?: Omit<EvictionOptions, 'nodeRef'>;
  /** How long the machine's shutdown waits for pods: what `gracePeriodsOf` of node-shutdown makes. It does not where absent. */
  readonly shutdown?: {
    readonly gracePeriods: readonly PriorityGracePeriod[];
    /** Whether the times of the last shutdown are kept in the root directory and shown; true by default. */
    readonly keepTimes?: boolean;
  };
  readonly containerGc: {
    readonly minAgeMs: number;
    readonly maxPerPodContainer: number;
    readonly maxContainers: number;
  };
  /** Where device plugins are met, and whether the health of devices shows in pods' statuses; absent: the node has no devices. */
  readonly devices?: DeviceManagerOptions & { readonly healthStatus?: boolean };
  /** Where sockets of plugins are found: `<root>/plugins_registry`; absent: they are not looked for. */
  readonly pluginsDirectory?: string;
  /** The host's IDs for pods with `hostUsers: false`, or why there are none. Absent: such pods are rejected. */
  readonly userNamespaces?: Omit<UserNamespacesOptions, 'podsDirectory'> | { readonly unavailable: string };
  /** Where the groups of pods are and what they are held to, where there are any. */
  readonly cgroups?: Omit<PodCgroupsOptions, 'nodeRef'> & {
    /** Asked where the runtime does not tell its own; `cgroupfs` by default. */
    readonly driver?: CgroupDriver;
  };
  /** Whether the node runs SELinux, so that mounts of containers are relabelled; false by default. */
  readonly selinux?: boolean;
  /** Which groups are shown beside those of pods, and whether pods' figures are the runtime's. */
  readonly stats?: Pick<StatsOptions, 'kubeletCgroups' | 'runtimeCgroups' | 'systemCgroups' | 'fromRuntime'> & {
    /** How often volumes are measured; 1 min by default, 0 and less: never. */
    readonly volumePeriodMs?: number;
  };
  /** How many sandboxes and containers are started at once. */
  readonly startConcurrency: number;
}

/** What a program puts around parts on the inside, to watch them at work. */
export interface Decorations {
  /** The syncer that the pod workers call: the one that it is given, or one around it. */
  readonly podSyncer?: (syncer: PodSyncer) => PodSyncer;
}
