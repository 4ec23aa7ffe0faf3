import type { PodFeaturesOptions, PredicateHandlerOptions, SysctlOptions } from '@node-agent/admission';
import type { ResizeNode } from '@node-agent/allocation';
import type { Clock, Random } from '@node-agent/async';
import type { CgroupDriver, CgroupManager, PodCgroupsOptions } from '@node-agent/cm-cgroups';
import type { ContainerResourcesOptions } from '@node-agent/cm-resources';
import type { CsiDrivers } from '@node-agent/contracts';
import type { CriClient, ImageService, RuntimeService } from '@node-agent/cri-client';
import type { DeviceManagerComponents, DeviceManagerOptions } from '@node-agent/device-manager';
import type { DraManagerOptions } from '@node-agent/dra';
import type { EvictionOptions, EvictionStats, Gauge } from '@node-agent/eviction';
import type { FileSystem, ForeignFiles } from '@node-agent/host';
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
import type { EventRecorder, Logger, Metrics, Tracer } from '@node-agent/telemetry';
import type { UserNamespacesOptions } from '@node-agent/userns';
import type {
  DiskTools,
  FlexPrograms,
  HostPathFiles,
  LocalDevices,
  LocalVolumeFiles,
  LoopDevices,
  Mounter,
  SelinuxSettings,
  SubPathForeignFiles,
} from '@node-agent/volumes';
import type { ClusterPart } from './cluster-part.ts';

/** External dependencies of a kubelet: everything that it does to a machine goes through these ports. */
export interface NodePorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /**
   * Metrics of `/metrics/probes`. As in upstream, these metrics have a registry of their own, because each container
   * adds a series. If absent, probes are not counted.
   */
  readonly probeMetrics?: Metrics;
  /** Connects to pods for probes. Default: the machine's network. Exec probes run through `cri` instead. */
  readonly probePorts?: Omit<ProbePorts, 'exec'>;
  /** Sends the HTTP requests of lifecycle hooks. Default: the machine's network. */
  readonly hookHttp?: LifecycleHooksComponents['http'];
  /** Creates spans for the steps of pods and for garbage collections. If absent, tracing is off. */
  readonly tracer?: Tracer | undefined;
  readonly recorder: EventRecorder;
  readonly cri: RuntimeService & ImageService & Partial<Pick<CriClient, 'listContainerStates'>>;
  readonly fs: FileSystem;
  /** Access to file systems that may hang, for host paths and local volumes. */
  readonly foreignFiles: HostPathFiles & SubPathForeignFiles & LocalVolumeFiles & Pick<ForeignFiles, 'isDeviceInUse'>;
  readonly mounter: Mounter;
  /**
   * Mounts volumes of other machines and of flexVolume drivers. Commands for these volumes may hang, so other volumes
   * must use another mounter (W6). If absent, `nfs`, `iscsi`, `fc` and `flexVolume` volumes are rejected.
   */
  readonly networkMounter?: Mounter;
  /** Mounts disks of other machines. If absent, `iscsi` and `fc` volumes are rejected. */
  readonly networkDevices?: Pick<LocalDevices, 'formatAndMount' | 'grow'>;
  /** Runs flexVolume drivers. If absent, `flexVolume` volumes are rejected. */
  readonly flexPrograms?: FlexPrograms;
  /** Connects disks of other machines. If absent, `iscsi` and `fc` volumes are rejected. */
  readonly diskTools?: DiskTools;
  /** Mounts disks of the machine. If absent, PersistentVolumeClaims bound to local volumes are rejected. */
  readonly localDevices?: LocalDevices;
  /** Loop devices, which hold block volumes open. If absent, volumes with `volumeMode: Block` are rejected. */
  readonly loopDevices?: LoopDevices;
  /** CSI drivers of this node. Default: the drivers that register in `AssemblySettings.pluginsDirectory`. */
  readonly csiDrivers?: CsiDrivers;
  /** Transport between device plugins, CSI and DRA drivers and the kubelet. Default: gRPC on Unix sockets. */
  readonly deviceTransport?: NonNullable<DeviceManagerComponents['transport']>;
  /** Sets the SELinux label that lets containers use the plugin directories. */
  readonly labelForContainers?: NonNullable<DeviceManagerComponents['labelForContainers']>;
  /** Reads the size and free space of file systems. If absent, unused images are never removed. */
  readonly disks?: ImageGcComponents['disks'];
  /**
   * Measures the node and its pods for eviction. Default: the stats that are read through `stats`. Without either, no
   * pods are evicted.
   */
  readonly statistics?: EvictionStats;
  /**
   * Gauges that eviction reads between two rounds, so that eviction notices a shortage of memory immediately. Gauges of
   * disks are derived from `stats` and need not be passed here.
   */
  readonly gauges?: readonly Gauge[];
  /**
   * Sources of the stats of the node and its pods, besides the runtime and files. If absent, the kubelet has no stats.
   */
  readonly stats?: Pick<StatsComponents, 'cgroups' | 'disks' | 'kernelFiles'>;
  /** The kernel log and the machine's uptime. If absent, OOM kills are not reported. */
  readonly kernelLog?: Pick<OomWatcherComponents, 'open' | 'uptimeMs'>;
  /** Reports and delays the machine's shutdown. If absent, the shutdown does not wait for pods. */
  readonly shutdown?: Pick<NodeShutdownComponents, 'logind' | 'inhibitor'>;
  /** Opens the cgroups of the machine. If absent, the runtime chooses the cgroups of pods. */
  readonly openCgroups?: (driver: CgroupDriver) => Promise<CgroupManager>;
  /**
   * Creates the components for the API server: the result of `clusterPart` of the entry point `./cluster`. Absent if
   * the node is in no cluster.
   */
  readonly cluster?: ClusterPart;
  /** Image pull credentials of a node without a cluster. */
  readonly pullCredentials?: PullCredentials;
  /** Called with the number of pods, not counting mirror pods, whenever that number changes. */
  readonly onPodCountChanged?: (pods: number) => void;
}

/** A pod source that the kubelet creates. It gets the function through which it reports pods. */
export interface PodSourcePort {
  readonly name: 'file' | 'http' | 'api';
  readonly make: (set: PodSourceInput) => Pick<BackgroundService, 'start'>;
}

/** Settings of a kubelet. Directories are absolute; the defaults are upstream's. */
export interface AssemblySettings<C = unknown> {
  /** Configuration of the program, which the kubelet's `getConfiguration` returns. */
  readonly configuration: C;
  /** Factories of the available servers. */
  readonly servers: NonNullable<Dependencies['servers']>;
  readonly nodeName: string;
  /** Addresses of the node, the primary address first. */
  readonly nodeIps: readonly string[];
  /** Root directory of the kubelet, `/var/lib/kubelet`. */
  readonly rootDirectory: string;
  /** Directory for links to container logs, `/var/log/containers`. */
  readonly containerLogsDirectory: string;
  /** Node settings for sandboxes and containers. */
  readonly node: NodeSettings;
  /** Labels of the node until an API server reports them. */
  readonly nodeLabels?: Readonly<Record<string, string>>;
  /**
   * Allocatable resources of the node until an API server reports them: admission uses these resources, and the
   * downward API shows them as the limits of containers without limits. If absent, admission does not check resources,
   * and the downward API shows 0.
   */
  readonly nodeAllocatable?: Readonly<Record<string, string>>;
  /** Directory of flexVolume drivers. If absent, `flexVolume` volumes are rejected. */
  readonly flexVolumeDirectory?: string;
  /** Whether the condition of CSI volumes is reported (feature gate `CSIVolumeHealth`). Default: false. */
  readonly volumeHealth?: boolean;
  readonly sources: readonly PodSourcePort[];
  readonly admission?: Omit<PredicateHandlerOptions, 'extendedResourceClaims'> & {
    /** Kernel release, and the unsafe sysctls that pods may set. Default: an unknown kernel, and no unsafe sysctls. */
    readonly sysctls?: SysctlOptions;
    /** Whether the kernel supports AppArmor. Default: true. */
    readonly appArmor?: boolean;
    /** Kubelet features that pods may use. Default: all. */
    readonly features?: PodFeaturesOptions;
  };
  /** Admit handlers called after the built-in ones. */
  readonly admitHandlers?: readonly AdmitHandler[];
  readonly dns: {
    readonly resolvConfPath: string;
    readonly clusterDns: readonly string[];
    readonly clusterDomain: string;
    /** State of the feature gate HostnameOverride. Default: enabled. */
    readonly hostnameOverride?: boolean;
  };
  /** Range of pod addresses until the API server reports a range for the node. Default: no range. */
  readonly podCidr?: string;
  readonly syncFrequencyMs: number;
  readonly backOff: BackOffLimits;
  /** State of the feature gates that affect restarts. Default: all enabled. */
  readonly restartFeatures?: RestartFeatures;
  /** Settings that decide whether running pods can be resized. Default: upstream's. */
  readonly resize?: ResizeNode;
  readonly pulls: {
    readonly serialize: boolean;
    readonly maxParallel: number | undefined;
    readonly qps: number;
    readonly burst: number;
    /**
     * Policy for images that are already on the node: which of them a pod may use only if its credentials allow the
     * pull. If absent, pods may use every image that is on the node, and no pulls are recorded.
     */
    readonly verification?: { readonly policy: VerificationPolicy; readonly allowlist: readonly string[] };
  };
  readonly logs: {
    /** Size at which a container's log is rotated. A negative value disables log rotation. */
    readonly maxSizeBytes: number;
    readonly maxFiles: number;
    readonly maxWorkers: number;
    readonly monitorIntervalMs: number;
  };
  /**
   * Policy of image garbage collection. Default: images are removed from 85 % disk usage down to 80 %, except images
   * younger than 2 min; no image is removed because of its age alone.
   */
  readonly imageGc?: Partial<ImageGcPolicy>;
  /** Eviction settings, used if the node is measured. If absent, pods are never evicted. */
  readonly eviction?: Omit<EvictionOptions, 'nodeRef'>;
  /**
   * Grace periods for which the machine's shutdown waits for pods, from `gracePeriodsOf` of node-shutdown. If absent,
   * the shutdown does not wait.
   */
  readonly shutdown?: {
    readonly gracePeriods: readonly PriorityGracePeriod[];
    /**
     * Whether start and end of the last shutdown are saved in the root directory and shown in metrics. Default: true.
     */
    readonly keepTimes?: boolean;
  };
  readonly containerGc: {
    readonly minAgeMs: number;
    readonly maxPerPodContainer: number;
    readonly maxContainers: number;
  };
  /**
   * Directory of device plugins, and whether pod statuses show the health of devices. If absent, the node has no
   * devices.
   */
  readonly devices?: Omit<DeviceManagerOptions, 'extendedResourceClaims'> & { readonly healthStatus?: boolean };
  /**
   * Feature gates of dynamic resource allocation. If absent, or without an API server, pods with ResourceClaims are
   * rejected. With `extendedResources: false`, the extended resources of a pod come from device plugins and count at
   * admission, also if the scheduler has created a claim for them.
   */
  readonly resourceClaims?: Omit<DraManagerOptions, 'directory'>;
  /**
   * Settings of the CPU, memory and topology managers. If absent, the node has no such managers, and no state files of
   * them. On a node where all policies are off, the state files exist.
   */
  readonly resourceManagers?: Omit<ContainerResourcesOptions, 'directory'> & {
    /** Whether containers with exclusive CPUs have no CFS quota (`DisableCPUQuotaWithExclusiveCPUs`). Default: true. */
    readonly noQuotaWithExclusiveCpus?: boolean;
  };
  /** Directory of plugin sockets. Upstream uses `<root>/plugins_registry`. If absent, plugins are not discovered. */
  readonly pluginsDirectory?: string;
  /**
   * Range of host IDs for pods with `hostUsers: false`, or the reason for which no range is available. If absent, pods
   * with `hostUsers: false` are rejected.
   */
  readonly userNamespaces?: Omit<UserNamespacesOptions, 'podsDirectory'> | { readonly unavailable: string };
  /** Location and limits of pod cgroups. Used only if `NodePorts.openCgroups` is present. */
  readonly cgroups?: Omit<PodCgroupsOptions, 'nodeRef'> & {
    /** Cgroup driver that is used if the runtime does not report its driver. Default: `cgroupfs`. */
    readonly driver?: CgroupDriver;
  };
  /** Whether the node runs SELinux, so that container mounts are relabelled. Default: false. */
  readonly selinux?: boolean;
  /** SELinux labels with which volumes are mounted. If absent, volumes are mounted without labels. */
  readonly selinuxVolumes?: SelinuxSettings;
  /**
   * Cgroups whose stats are shown in addition to those of pods, and whether the stats of pods come from the runtime.
   */
  readonly stats?: Pick<StatsOptions, 'kubeletCgroups' | 'runtimeCgroups' | 'systemCgroups' | 'fromRuntime'> & {
    /** Interval of volume measurements, in milliseconds. Default: 1 min. 0 or less disables the measurements. */
    readonly volumePeriodMs?: number;
  };
  /** Maximum number of sandboxes and containers started concurrently. */
  readonly startConcurrency: number;
}

/** Wrappers that a program puts around components to observe them. */
export interface Decorations {
  /** Returns the syncer that the pod workers call: either the argument, or a wrapper around it. */
  readonly podSyncer?: (syncer: PodSyncer) => PodSyncer;
}
