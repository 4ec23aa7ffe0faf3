// Written from the table in src/schema and src/flags by `pnpm run docs`; change it there.

/** Back-off of containers that keep failing. */
export interface CrashLoopBackOffConfiguration {
  /** Longest back-off between two starts of a container: 1s to 300s. Needs the feature gate KubeletCrashLoopBackOffMax, with a default of 300s. */
  readonly maxContainerRestartPeriodMs?: number;
}

/** User namespaces of pods. */
export interface UserNamespacesConfiguration {
  /** Number of user and group IDs of each pod with a user namespace: a multiple of 65536. Unset: 65536. */
  readonly idsPerPod?: number;
}

export type ImagePullCredentialsVerificationPolicy =
  | 'NeverVerify'
  | 'NeverVerifyPreloadedImages'
  | 'NeverVerifyAllowlistedImages'
  | 'AlwaysVerify';

export type HairpinMode = 'promiscuous-bridge' | 'hairpin-veth' | 'none';

export type TlsVersion = '' | 'VersionTLS10' | 'VersionTLS11' | 'VersionTLS12' | 'VersionTLS13';

/** Client certificates. */
export interface KubeletX509Authentication {
  /** Certificate authorities of client certificates, PEM. Empty: no client certificate is accepted. Default: ''. */
  readonly clientCAFile: string;
}

/** Bearer tokens, reviewed by the API server. */
export interface KubeletWebhookAuthentication {
  /** Whether the API server reviews bearer tokens. Without --config, the default is false. Default: true. */
  readonly enabled: boolean;
  /** How long the result of a token review is cached. Default: 2m0s. */
  readonly cacheTtlMs: number;
}

/** Requests without credentials. */
export interface KubeletAnonymousAuthentication {
  /** Whether requests without a certificate or token are accepted as system:anonymous. Without --config, the default is true. Default: false. */
  readonly enabled: boolean;
}

/** Authentication of requests to the secured server. */
export interface KubeletAuthentication {
  /** Client certificates. */
  readonly x509: KubeletX509Authentication;
  /** Bearer tokens, reviewed by the API server. */
  readonly webhook: KubeletWebhookAuthentication;
  /** Requests without credentials. */
  readonly anonymous: KubeletAnonymousAuthentication;
}

export type KubeletAuthorizationMode = 'AlwaysAllow' | 'Webhook';

/** Decisions of the API server. */
export interface KubeletWebhookAuthorization {
  /** How long an allowed request is cached. Default: 5m0s. */
  readonly cacheAuthorizedTtlMs: number;
  /** How long a denied request is cached. Default: 30s. */
  readonly cacheUnauthorizedTtlMs: number;
}

/** Authorization of requests to the secured server. */
export interface KubeletAuthorization {
  /** AlwaysAllow, or Webhook: the API server decides. Without --config, the default is AlwaysAllow. Default: Webhook. */
  readonly mode: KubeletAuthorizationMode;
  /** Decisions of the API server. */
  readonly webhook: KubeletWebhookAuthorization;
}

export type TaintEffect = '' | 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';

/** A taint of the node. */
export interface TaintConfiguration {
  /** Key of the taint. Default: ''. */
  readonly key: string;
  /** Value of the taint. Default: ''. */
  readonly value: string;
  /** Effect on pods that do not tolerate the taint. Default: ''. */
  readonly effect: TaintEffect;
  /** Not allowed in a configuration. */
  readonly timeAdded?: string;
}

export type ChangeDetectionStrategy = 'Get' | 'Cache' | 'Watch';

export type CgroupDriver = 'cgroupfs' | 'systemd';

export type MemoryReservationPolicy = 'None' | 'TieredReservation';

/** Reserved memory of one NUMA node. */
export interface MemoryReservation {
  /** Number of the NUMA node. Default: 0. */
  readonly numaNode: number;
  /** Quantities of memory and of hugepages-<size>. Default: {}. */
  readonly limits: Readonly<Record<string, string>>;
}

export type CpuManagerPolicy = 'none' | 'static';

export type MemoryManagerPolicy = 'None' | 'Static';

export type TopologyManagerPolicy = 'none' | 'best-effort' | 'restricted' | 'single-numa-node';

export type TopologyManagerScope = 'container' | 'pod';

export type SwapBehavior = '' | 'NoSwap' | 'LimitedSwap';

/** Swap of containers. */
export interface MemorySwapConfiguration {
  /** NoSwap (same as empty), or LimitedSwap: swap in proportion to the memory request, on cgroup v2 only. Default: ''. */
  readonly swapBehavior: SwapBehavior;
}

/** Shutdown grace period of pods whose priority is at least that of the entry. */
export interface ShutdownGracePeriodByPodPriority {
  /** Lowest priority of the entry. Default: 0. */
  readonly priority: number;
  /** Grace period in seconds. Default: 0. */
  readonly shutdownGracePeriodSeconds: number;
}

export type LogFormat = 'text' | 'json';

/** Verbosity of some source files. */
export interface VModuleItem {
  /** File name without its suffix, or a glob pattern. Default: ''. */
  readonly filePattern: string;
  /** Verbosity of the files. Default: 0. */
  readonly verbosity: number;
}

/** Options of the format text. */
export interface TextLogOptions {
  /** Whether errors go to stderr and the rest to stdout. Needs the feature gate LoggingAlphaOptions. Default: false. */
  readonly splitStream: boolean;
  /** Buffer size of the info stream, if splitStream is set. 0: not buffered. Needs the feature gate LoggingAlphaOptions. Default: 0. */
  readonly infoBufferSizeBytes: number;
}

/** Options of the format json. */
export interface JsonLogOptions {
  /** Whether errors go to stderr and the rest to stdout. Needs the feature gate LoggingAlphaOptions. Default: false. */
  readonly splitStream: boolean;
  /** Buffer size of the info stream, if splitStream is set. 0: not buffered. Needs the feature gate LoggingAlphaOptions. Default: 0. */
  readonly infoBufferSizeBytes: number;
}

/** Options of each log format. */
export interface LogFormatOptions {
  /** Options of the format text. */
  readonly text: TextLogOptions;
  /** Options of the format json. */
  readonly json: JsonLogOptions;
}

/** Log of the kubelet. */
export interface LoggingConfiguration {
  /** Format of log lines. Default: text. */
  readonly format: LogFormat;
  /** Longest time that a log line is buffered. Lines are buffered only if splitStream and infoBufferSize are set. A whole number is nanoseconds. Default: 5s. */
  readonly flushFrequencyMs: number;
  /** Verbosity of the log: 0 is the least, 4 is for debugging, 10 is everything. Default: 0. */
  readonly verbosity: number;
  /** Verbosity by source file. Only with format text. Default: []. */
  readonly vmodule: readonly VModuleItem[];
  /** Options of each log format. */
  readonly options: LogFormatOptions;
}

/** Traces, sent by OTLP over gRPC. */
export interface TracingConfiguration {
  /** Collector of traces, as a gRPC name. Unset: localhost:4317. */
  readonly endpoint?: string;
  /** Number of spans without a parent that are sampled, per million. Unset: none. */
  readonly samplingRatePerMillion?: number;
}

/**
 * The configuration that the kubelet works with: every field of KubeletConfiguration v1beta1, defaulted and checked,
 * durations in milliseconds (`...Ms`), sizes in bytes (`...Bytes`). Fields without a default are optional.
 */
export interface KubeletConfiguration {
  /** Path of a static pod manifest, or of a directory of manifests. Empty: no static pods from files. Default: ''. */
  readonly staticPodPath: string;
  /** Interval at which the manifests of staticPodPath are read again. Changes that the file system reports are read immediately. Default: 20s. */
  readonly fileCheckFrequencyMs: number;
  /** URL that serves manifests of static pods. Empty: no static pods from HTTP. Default: ''. */
  readonly staticPodURL: string;
  /** HTTP headers sent with each request to staticPodURL. Their values are never logged. Default: {}. */
  readonly staticPodURLHeader: Readonly<Record<string, readonly string[]>>;
  /** Interval at which staticPodURL is requested. Default: 20s. */
  readonly httpCheckFrequencyMs: number;
  /** Longest time between two syncs of a pod without events. Default: 1m0s. */
  readonly syncFrequencyMs: number;
  /** Maximum number of pods on this node. Default: 110. */
  readonly maxPods: number;
  /** Maximum number of pods per CPU core; maxPods still applies. 0: no limit per core. Default: 0. */
  readonly podsPerCore: number;
  /** Maximum number of processes in a pod. -1: the limit of the node. No effect if cgroupsPerQOS is false. Default: -1. */
  readonly podPidsLimit: number;
  /** Formerly: start the static pods, then exit. The value true is refused, as in upstream. Default: false. */
  readonly runOnce: boolean;
  /** Back-off of containers that keep failing. */
  readonly crashLoopBackOff: CrashLoopBackOffConfiguration;
  /** Whether the kubelet registers its node with the API server. No effect without --kubeconfig. Default: true. */
  readonly registerNode: boolean;
  /** Whether containers without a seccomp profile run with RuntimeDefault instead of Unconfined. Default: false. */
  readonly seccompDefault: boolean;
  /** Unsafe sysctls, or patterns that end in `*`, that pods may set. Default: []. */
  readonly allowedUnsafeSysctls: readonly string[];
  /** User namespaces of pods. */
  readonly userNamespaces?: UserNamespacesConfiguration;
  /** Socket of the container runtime's CRI server. Default: unix:///run/containerd/containerd.sock. */
  readonly containerRuntimeEndpoint: string;
  /** Socket of the CRI image service. Empty: containerRuntimeEndpoint. Default: ''. */
  readonly imageServiceEndpoint: string;
  /** Deadline of requests to the runtime. Image pulls, logs, exec and attach have no deadline or one of their own. Default: 2m0s. */
  readonly runtimeRequestTimeoutMs: number;
  /** Whether CPU limits are enforced with CFS quotas. Default: true. */
  readonly cpuCFSQuota: boolean;
  /** Period of CFS quotas: 1ms to 1s. A value other than 100ms needs the feature gate CustomCPUCFSQuotaPeriod. Default: 100ms. */
  readonly cpuCFSQuotaPeriodMs: number;
  /** Root of the pods' log directories: an absolute, normalised ASCII path. Default: /var/log/pods. */
  readonly podLogsDir: string;
  /** Size at which a container log is rotated. Negative: logs are not rotated. Default: 10Mi. */
  readonly containerLogMaxSizeBytes: number;
  /** Number of log files per container, including the current one: 2 or more. Default: 5. */
  readonly containerLogMaxFiles: number;
  /** Number of logs that are rotated in parallel. Default: 1. */
  readonly containerLogMaxWorkers: number;
  /** Interval at which the sizes of container logs are checked: 3s or longer. Default: 10s. */
  readonly containerLogMonitorIntervalMs: number;
  /** Image pulls per second, on average. 0: no limit. Default: 5. */
  readonly registryPullQPS: number;
  /** Image pulls that may exceed registryPullQPS in a burst. Default: 10. */
  readonly registryBurst: number;
  /** Whether images are pulled one at a time. If maxParallelImagePulls is 2 or more, the default is false. Default: true. */
  readonly serializeImagePulls: boolean;
  /** Maximum number of parallel image pulls; above 1 only if serializeImagePulls is false. Unset: no limit. */
  readonly maxParallelImagePulls?: number;
  /** Which images that are already on the node need pull credentials from each pod. Needs the feature gate KubeletEnsureSecretPulledImages, with a default of NeverVerifyPreloadedImages. */
  readonly imagePullCredentialsVerificationPolicy?: ImagePullCredentialsVerificationPolicy;
  /** Images (without tag or digest), or prefixes that end in `/*`, that need no verification under NeverVerifyAllowlistedImages. Default: []. */
  readonly preloadedImagesVerificationAllowlist: readonly string[];
  /** Minimum age of an image, since it was first seen, before it may be removed to free space. Default: 2m0s. */
  readonly imageMinimumGCAgeMs: number;
  /** Longest time that an unused image is kept; longer than imageMinimumGCAge. 0s: no limit. Default: 0s. */
  readonly imageMaximumGCAgeMs: number;
  /** Disk usage in percent that starts image garbage collection; above imageGCLowThresholdPercent. 100: no collection for space, unless the disk is almost full and imageMaximumGCAge is set. Default: 85. */
  readonly imageGCHighThresholdPercent: number;
  /** Disk usage in percent at which image garbage collection stops. Default: 80. */
  readonly imageGCLowThresholdPercent: number;
  /** DNS domain of the cluster, searched before the search domains of the host. Default: ''. */
  readonly clusterDomain: string;
  /** IP addresses of the cluster's DNS servers, for pods with dnsPolicy ClusterFirst. Default: []. */
  readonly clusterDNS: readonly string[];
  /** Resolver file that the DNS settings of pods are based on. Empty: pods get no DNS settings from the host. Default: /etc/resolv.conf. */
  readonly resolvConf: string;
  /** Range of pod IP addresses that a standalone kubelet (without an API server) sends to the runtime. If empty, no range is sent. Default: ''. */
  readonly podCIDR: string;
  /** How a pod can reach itself through its Service. Default: promiscuous-bridge. */
  readonly hairpinMode: HairpinMode;
  /** Whether the kubelet creates the chains KUBE-IPTABLES-HINT, which shows other programs the iptables variant in use, and KUBE-FIREWALL, which drops packets to 127.0.0.0/8 from other hosts. Default: true. */
  readonly makeIPTablesUtilChains: boolean;
  /** Formerly the bit of the packet mark for masquerading. Default: 14. */
  readonly iptablesMasqueradeBit: number;
  /** Formerly the bit of the packet mark for dropping. Default: 15. */
  readonly iptablesDropBit: number;
  /** Port of /healthz. 0: not served. Default: 10248. */
  readonly healthzPort: number;
  /** IP address of /healthz, or a host name that resolves to one. Default: 127.0.0.1. */
  readonly healthzBindAddress: string;
  /** Port of the read-only server, which needs no authentication. 0: not served. Without --config, the default is 0 (upstream: 10255). Default: 0. */
  readonly readOnlyPort: number;
  /** Whether the secured server runs. Default: true. */
  readonly enableServer: boolean;
  /** IP address of the secured server. The read-only server listens on the loopback address. Default: 0.0.0.0. */
  readonly address: string;
  /** Port of the secured server. Default: 10250. */
  readonly port: number;
  /** Whether logs, exec, attach and port-forward are served. Default: true. */
  readonly enableDebuggingHandlers: boolean;
  /** Whether lock contention is profiled if enableDebuggingHandlers is true. Default: false. */
  readonly enableContentionProfiling: boolean;
  /** Whether /debug/pprof is served. Default: true. */
  readonly enableProfilingHandler: boolean;
  /** Whether /debug/flags/v is served. Default: true. */
  readonly enableDebugFlagsHandler: boolean;
  /** Whether the host's logs are served at /logs. Default: true. */
  readonly enableSystemLogHandler: boolean;
  /** Whether /logs answers queries. Needs enableSystemLogHandler. Default: false. */
  readonly enableSystemLogQuery: boolean;
  /** Certificate of the secured server with its chain, PEM. Empty: a self-signed certificate in --cert-dir. Default: ''. */
  readonly tlsCertFile: string;
  /** Private key of tlsCertFile, PEM. Default: ''. */
  readonly tlsPrivateKeyFile: string;
  /** Cipher suites of TLS 1.2 to offer, by their IANA names. Empty: the defaults. Default: []. */
  readonly tlsCipherSuites: readonly string[];
  /** Key exchanges to offer, by their TLS numbers. Empty: the defaults. Default: []. */
  readonly tlsCurvePreferences: readonly number[];
  /** Minimum TLS version. Empty: VersionTLS12. Default: ''. */
  readonly tlsMinVersion: TlsVersion;
  /** Whether the client certificate is renewed through the API server. Default: false. */
  readonly rotateCertificates: boolean;
  /** Whether the serving certificate comes from the API server. Needs the feature gate RotateKubeletServerCertificate. Default: false. */
  readonly serverTLSBootstrap: boolean;
  /** Authentication of requests to the secured server. */
  readonly authentication: KubeletAuthentication;
  /** Authorization of requests to the secured server. */
  readonly authorization: KubeletAuthorization;
  /** Taints that the node gets at its registration. Default: []. */
  readonly registerWithTaints: readonly TaintConfiguration[];
  /** Identifier of the machine at its cloud provider. Default: ''. */
  readonly providerID: string;
  /** Interval at which the node status is computed. Default: 10s. */
  readonly nodeStatusUpdateFrequencyMs: number;
  /** Interval at which an unchanged node status is sent. If a file sets nodeStatusUpdateFrequency and not this field, the default is nodeStatusUpdateFrequency. Default: 5m0s. */
  readonly nodeStatusReportFrequencyMs: number;
  /** Duration of the node Lease, in seconds. Default: 40. */
  readonly nodeLeaseDurationSeconds: number;
  /** Maximum number of images in the node status. -1: all. Default: 50. */
  readonly nodeStatusMaxImages: number;
  /** Events per second, on average. 0: no limit. Default: 50. */
  readonly eventRecordQPS: number;
  /** Events that may exceed eventRecordQPS in a burst. Default: 100. */
  readonly eventBurst: number;
  /** Requests to the API server per second, on average, without events and heartbeats. 0: 5. Default: 50. */
  readonly kubeAPIQPS: number;
  /** Requests that may exceed kubeAPIQPS in a burst. Default: 100. */
  readonly kubeAPIBurst: number;
  /** Media type of requests to the API server. Default: application/vnd.kubernetes.protobuf. */
  readonly contentType: string;
  /** How changes of ConfigMaps and Secrets are detected. Default: Watch. */
  readonly configMapAndSecretChangeDetectionStrategy: ChangeDetectionStrategy;
  /** Whether each pod has a cgroup, below one per QoS class (kubepods). If false, the runtime chooses the cgroup, and pod-level limits are not enforced. Default: true. */
  readonly cgroupsPerQOS: boolean;
  /** cgroupfs or systemd. If the runtime reports its driver, that one is used. Default: cgroupfs. */
  readonly cgroupDriver: CgroupDriver;
  /** Existing parent cgroup of kubepods. Empty: the root cgroup. No effect if cgroupsPerQOS is false. Default: ''. */
  readonly cgroupRoot: string;
  /** Cgroup that the kubelet moves itself to. Default: ''. */
  readonly kubeletCgroups: string;
  /** Cgroup that processes outside of containers are moved to. Needs cgroupRoot. Default: ''. */
  readonly systemCgroups: string;
  /** Whether the kubelet refuses to start on a host with cgroup v1. Default: true. */
  readonly failCgroupV1: boolean;
  /** Whether the OOM killer kills a single process of a container instead of all. Must not be false on cgroup v1. */
  readonly singleProcessOOMKill?: boolean;
  /** Position of memory.high between the memory request and limit of a container, from 0 to 1: above it, the kernel throttles the container. Needs the feature gate MemoryQoS. Default: 0.9. */
  readonly memoryThrottlingFactor: number;
  /** Whether requested memory is protected from reclaim. TieredReservation needs the feature gate MemoryQoS. Default: None. */
  readonly memoryReservationPolicy: MemoryReservationPolicy;
  /** oom_score_adj of the kubelet: -1000 to 1000. Default: -999. */
  readonly oomScoreAdj: number;
  /** Resources reserved for the operating system: quantities of cpu, memory, ephemeral-storage and pid. Default: {}. */
  readonly systemReserved: Readonly<Record<string, string>>;
  /** Resources reserved for Kubernetes: quantities of cpu, memory, ephemeral-storage and pid. Default: {}. */
  readonly kubeReserved: Readonly<Record<string, string>>;
  /** Cgroup on which systemReserved is enforced. Default: ''. */
  readonly systemReservedCgroup: string;
  /** Cgroup on which kubeReserved is enforced. Default: ''. */
  readonly kubeReservedCgroup: string;
  /** Cgroups on which limits are enforced: pods, system-reserved or system-reserved-compressible, kube-reserved or kube-reserved-compressible; or only none. Default: ["pods"]. */
  readonly enforceNodeAllocatable: readonly string[];
  /** Percentage of the requests of higher QoS classes that lower classes may not use; memory only. Needs the feature gate QOSReserved. Default: {}. */
  readonly qosReserved: Readonly<Record<string, string>>;
  /** CPUs reserved for the system, as a list of numbers and ranges (0-1,6). Replaces cpu in systemReserved and kubeReserved. Default: ''. */
  readonly reservedSystemCPUs: string;
  /** Memory reserved on each NUMA node, for the memory manager. The total of each resource must equal what kubeReserved, systemReserved and evictionHard reserve. Default: []. */
  readonly reservedMemory: readonly MemoryReservation[];
  /** none, or static: Guaranteed containers that request whole CPUs get exclusive CPUs. Default: none. */
  readonly cpuManagerPolicy: CpuManagerPolicy;
  /** Options of the CPU manager policy static: full-pcpus-only, distribute-cpus-across-numa, strict-cpu-reservation, prefer-align-cpus-by-uncorecache; with the feature gate CPUManagerPolicyAlphaOptions also align-by-socket and distribute-cpus-across-cores. Default: {}. */
  readonly cpuManagerPolicyOptions: Readonly<Record<string, string>>;
  /** Interval at which the CPU manager reconciles cpusets. Default: 10s. */
  readonly cpuManagerReconcilePeriodMs: number;
  /** None, or Static: Guaranteed pods get memory from as few NUMA nodes as possible. Default: None. */
  readonly memoryManagerPolicy: MemoryManagerPolicy;
  /** How strictly the CPUs, memory and devices of a pod must be aligned on NUMA nodes. Default: none. */
  readonly topologyManagerPolicy: TopologyManagerPolicy;
  /** Whether the topology policy aligns containers or whole pods. Default: container. */
  readonly topologyManagerScope: TopologyManagerScope;
  /** Options of the topology manager policy: prefer-closest-numa-nodes, max-allowable-numa-nodes. Default: {}. */
  readonly topologyManagerPolicyOptions: Readonly<Record<string, string>>;
  /** Hard eviction thresholds (no grace period) by signal, as quantities or percentages. Default with --config: memory.available 100Mi, nodefs.available 10%, nodefs.inodesFree 5%, imagefs.available 15%, imagefs.inodesFree 5%. Default without --config: none. Default: {}. */
  readonly evictionHard: Readonly<Record<string, string>>;
  /** Soft eviction thresholds by signal: pods are evicted after a grace period. Default: {}. */
  readonly evictionSoft: Readonly<Record<string, string>>;
  /** Time that each soft threshold must stay crossed before pods are evicted. Default: {}. */
  readonly evictionSoftGracePeriodMs: Readonly<Record<string, number>>;
  /** Amount by signal that an eviction frees beyond the threshold. Default: {}. */
  readonly evictionMinimumReclaim: Readonly<Record<string, string>>;
  /** Time that a pressure condition stays True after the pressure has ended. Default: 5m0s. */
  readonly evictionPressureTransitionPeriodMs: number;
  /** Longest grace period in seconds of a pod in a soft eviction. Negative: the pod's own grace period. Default: 0. */
  readonly evictionMaxPodGracePeriodSeconds: number;
  /** Whether signals that are missing in evictionHard of the --config file keep their default threshold. Default: false. */
  readonly mergeDefaultEvictionSettings: boolean;
  /** Whether the kernel notifies the kubelet of crossed memory thresholds. Default: false. */
  readonly kernelMemcgNotification: boolean;
  /** Whether the kubelet refuses to start on a host with swap. Default: true. */
  readonly failSwapOn: boolean;
  /** Swap of containers. */
  readonly memorySwap: MemorySwapConfiguration;
  /** Whether limits of ephemeral storage and sizes of emptyDir volumes are enforced. Default: true. */
  readonly localStorageCapacityIsolation: boolean;
  /** Time that a shutdown of the node waits for pods: 0s, or 1s and more. Default: 0s. */
  readonly shutdownGracePeriodMs: number;
  /** Part of shutdownGracePeriod that is reserved for critical pods: 0s, or 1s and more. Default: 0s. */
  readonly shutdownGracePeriodCriticalPodsMs: number;
  /** Shutdown grace periods by pod priority. Replaces shutdownGracePeriod. Needs the feature gate GracefulNodeShutdownBasedOnPodPriority. Default: []. */
  readonly shutdownGracePeriodByPodPriority: readonly ShutdownGracePeriodByPodPriority[];
  /** Whether the kubelet refuses to start if kernel settings differ from the expected values. If false, the kubelet changes the settings. Default: false. */
  readonly protectKernelDefaults: boolean;
  /** Maximum number of open files of the kubelet, set with prlimit of util-linux. A hard limit can be raised only with CAP_SYS_RESOURCE. Default: 1000000. */
  readonly maxOpenFiles: number;
  /** Directory of flexVolume drivers. It is not created. Default: /usr/libexec/kubernetes/kubelet-plugins/volume/exec/. */
  readonly volumePluginDir: string;
  /** Interval at which the usage of volumes is measured. Negative: never. Default: 1m0s. */
  readonly volumeStatsAggPeriodMs: number;
  /** Whether a controller attaches volumes to this node, instead of the kubelet. Default: true. */
  readonly enableControllerAttachDetach: boolean;
  /** Time after which a stream (exec, attach, port-forward) without traffic is closed. Default: 4h0m0s. */
  readonly streamingConnectionIdleTimeoutMs: number;
  /** Log of the kubelet. */
  readonly logging: LoggingConfiguration;
  /** Traces, sent by OTLP over gRPC. */
  readonly tracing?: TracingConfiguration;
  /** Previous minor version, to export metrics that this version hides. No other value is allowed. Default: ''. */
  readonly showHiddenMetricsForVersion: string;
  /** Feature gates by name. Gates of drop-in files and flags are added to those of the file. Default: {}. */
  readonly featureGates: Readonly<Record<string, boolean>>;
}

/** Back-off of containers that keep failing. */
export interface CrashLoopBackOffConfigurationV1beta1 {
  /** Longest back-off between two starts of a container: 1s to 300s. Needs the feature gate KubeletCrashLoopBackOffMax, with a default of 300s. */
  readonly maxContainerRestartPeriod?: string;
}

/** User namespaces of pods. */
export interface UserNamespacesConfigurationV1beta1 {
  /** Number of user and group IDs of each pod with a user namespace: a multiple of 65536. Unset: 65536. */
  readonly idsPerPod?: number;
}

/** Client certificates. */
export interface KubeletX509AuthenticationV1beta1 {
  /** Certificate authorities of client certificates, PEM. Empty: no client certificate is accepted. Default: ''. */
  readonly clientCAFile?: string;
}

/** Bearer tokens, reviewed by the API server. */
export interface KubeletWebhookAuthenticationV1beta1 {
  /** Whether the API server reviews bearer tokens. Without --config, the default is false. Default: true. */
  readonly enabled?: boolean;
  /** How long the result of a token review is cached. Default: 2m0s. */
  readonly cacheTTL?: string;
}

/** Requests without credentials. */
export interface KubeletAnonymousAuthenticationV1beta1 {
  /** Whether requests without a certificate or token are accepted as system:anonymous. Without --config, the default is true. Default: false. */
  readonly enabled?: boolean;
}

/** Authentication of requests to the secured server. */
export interface KubeletAuthenticationV1beta1 {
  /** Client certificates. */
  readonly x509?: KubeletX509AuthenticationV1beta1;
  /** Bearer tokens, reviewed by the API server. */
  readonly webhook?: KubeletWebhookAuthenticationV1beta1;
  /** Requests without credentials. */
  readonly anonymous?: KubeletAnonymousAuthenticationV1beta1;
}

/** Decisions of the API server. */
export interface KubeletWebhookAuthorizationV1beta1 {
  /** How long an allowed request is cached. Default: 5m0s. */
  readonly cacheAuthorizedTTL?: string;
  /** How long a denied request is cached. Default: 30s. */
  readonly cacheUnauthorizedTTL?: string;
}

/** Authorization of requests to the secured server. */
export interface KubeletAuthorizationV1beta1 {
  /** AlwaysAllow, or Webhook: the API server decides. Without --config, the default is AlwaysAllow. Default: Webhook. */
  readonly mode?: KubeletAuthorizationMode;
  /** Decisions of the API server. */
  readonly webhook?: KubeletWebhookAuthorizationV1beta1;
}

/** A taint of the node. */
export interface TaintConfigurationV1beta1 {
  /** Key of the taint. Default: ''. */
  readonly key?: string;
  /** Value of the taint. Default: ''. */
  readonly value?: string;
  /** Effect on pods that do not tolerate the taint. Default: ''. */
  readonly effect?: TaintEffect;
  /** Not allowed in a configuration. */
  readonly timeAdded?: string;
}

/** Reserved memory of one NUMA node. */
export interface MemoryReservationV1beta1 {
  /** Number of the NUMA node. Default: 0. */
  readonly numaNode?: number;
  /** Quantities of memory and of hugepages-<size>. Default: {}. */
  readonly limits?: Readonly<Record<string, string>>;
}

/** Swap of containers. */
export interface MemorySwapConfigurationV1beta1 {
  /** NoSwap (same as empty), or LimitedSwap: swap in proportion to the memory request, on cgroup v2 only. Default: ''. */
  readonly swapBehavior?: SwapBehavior;
}

/** Shutdown grace period of pods whose priority is at least that of the entry. */
export interface ShutdownGracePeriodByPodPriorityV1beta1 {
  /** Lowest priority of the entry. Default: 0. */
  readonly priority?: number;
  /** Grace period in seconds. Default: 0. */
  readonly shutdownGracePeriodSeconds?: number;
}

/** Verbosity of some source files. */
export interface VModuleItemV1beta1 {
  /** File name without its suffix, or a glob pattern. Default: ''. */
  readonly filePattern?: string;
  /** Verbosity of the files. Default: 0. */
  readonly verbosity?: number;
}

/** Options of the format text. */
export interface TextLogOptionsV1beta1 {
  /** Whether errors go to stderr and the rest to stdout. Needs the feature gate LoggingAlphaOptions. Default: false. */
  readonly splitStream?: boolean;
  /** Buffer size of the info stream, if splitStream is set. 0: not buffered. Needs the feature gate LoggingAlphaOptions. Default: 0. */
  readonly infoBufferSize?: string;
}

/** Options of the format json. */
export interface JsonLogOptionsV1beta1 {
  /** Whether errors go to stderr and the rest to stdout. Needs the feature gate LoggingAlphaOptions. Default: false. */
  readonly splitStream?: boolean;
  /** Buffer size of the info stream, if splitStream is set. 0: not buffered. Needs the feature gate LoggingAlphaOptions. Default: 0. */
  readonly infoBufferSize?: string;
}

/** Options of each log format. */
export interface LogFormatOptionsV1beta1 {
  /** Options of the format text. */
  readonly text?: TextLogOptionsV1beta1;
  /** Options of the format json. */
  readonly json?: JsonLogOptionsV1beta1;
}

/** Log of the kubelet. */
export interface LoggingConfigurationV1beta1 {
  /** Format of log lines. Default: text. */
  readonly format?: LogFormat;
  /** Longest time that a log line is buffered. Lines are buffered only if splitStream and infoBufferSize are set. A whole number is nanoseconds. Default: 5s. */
  readonly flushFrequency?: string | number;
  /** Verbosity of the log: 0 is the least, 4 is for debugging, 10 is everything. Default: 0. */
  readonly verbosity?: number;
  /** Verbosity by source file. Only with format text. Default: []. */
  readonly vmodule?: readonly VModuleItemV1beta1[];
  /** Options of each log format. */
  readonly options?: LogFormatOptionsV1beta1;
}

/** Traces, sent by OTLP over gRPC. */
export interface TracingConfigurationV1beta1 {
  /** Collector of traces, as a gRPC name. Unset: localhost:4317. */
  readonly endpoint?: string;
  /** Number of spans without a parent that are sampled, per million. Unset: none. */
  readonly samplingRatePerMillion?: number;
}

/** KubeletConfiguration v1beta1 as a file or /configz has it: k8s.io/kubelet/config/v1beta1, 1.36. */
export interface KubeletConfigurationV1beta1 {
  readonly apiVersion?: 'kubelet.config.k8s.io/v1beta1';
  readonly kind?: 'KubeletConfiguration';
  /** Path of a static pod manifest, or of a directory of manifests. Empty: no static pods from files. Default: ''. */
  readonly staticPodPath?: string;
  /** Interval at which the manifests of staticPodPath are read again. Changes that the file system reports are read immediately. Default: 20s. */
  readonly fileCheckFrequency?: string;
  /** URL that serves manifests of static pods. Empty: no static pods from HTTP. Default: ''. */
  readonly staticPodURL?: string;
  /** HTTP headers sent with each request to staticPodURL. Their values are never logged. Default: {}. */
  readonly staticPodURLHeader?: Readonly<Record<string, readonly string[]>>;
  /** Interval at which staticPodURL is requested. Default: 20s. */
  readonly httpCheckFrequency?: string;
  /** Longest time between two syncs of a pod without events. Default: 1m0s. */
  readonly syncFrequency?: string;
  /** Maximum number of pods on this node. Default: 110. */
  readonly maxPods?: number;
  /** Maximum number of pods per CPU core; maxPods still applies. 0: no limit per core. Default: 0. */
  readonly podsPerCore?: number;
  /** Maximum number of processes in a pod. -1: the limit of the node. No effect if cgroupsPerQOS is false. Default: -1. */
  readonly podPidsLimit?: number;
  /** Formerly: start the static pods, then exit. The value true is refused, as in upstream. Default: false. */
  readonly runOnce?: boolean;
  /** Back-off of containers that keep failing. */
  readonly crashLoopBackOff?: CrashLoopBackOffConfigurationV1beta1;
  /** Whether the kubelet registers its node with the API server. No effect without --kubeconfig. Default: true. */
  readonly registerNode?: boolean;
  /** Whether containers without a seccomp profile run with RuntimeDefault instead of Unconfined. Default: false. */
  readonly seccompDefault?: boolean;
  /** Unsafe sysctls, or patterns that end in `*`, that pods may set. Default: []. */
  readonly allowedUnsafeSysctls?: readonly string[];
  /** User namespaces of pods. */
  readonly userNamespaces?: UserNamespacesConfigurationV1beta1;
  /** Socket of the container runtime's CRI server. Default: unix:///run/containerd/containerd.sock. */
  readonly containerRuntimeEndpoint?: string;
  /** Socket of the CRI image service. Empty: containerRuntimeEndpoint. Default: ''. */
  readonly imageServiceEndpoint?: string;
  /** Deadline of requests to the runtime. Image pulls, logs, exec and attach have no deadline or one of their own. Default: 2m0s. */
  readonly runtimeRequestTimeout?: string;
  /** Whether CPU limits are enforced with CFS quotas. Default: true. */
  readonly cpuCFSQuota?: boolean;
  /** Period of CFS quotas: 1ms to 1s. A value other than 100ms needs the feature gate CustomCPUCFSQuotaPeriod. Default: 100ms. */
  readonly cpuCFSQuotaPeriod?: string;
  /** Root of the pods' log directories: an absolute, normalised ASCII path. Default: /var/log/pods. */
  readonly podLogsDir?: string;
  /** Size at which a container log is rotated. Negative: logs are not rotated. Default: 10Mi. */
  readonly containerLogMaxSize?: string;
  /** Number of log files per container, including the current one: 2 or more. Default: 5. */
  readonly containerLogMaxFiles?: number;
  /** Number of logs that are rotated in parallel. Default: 1. */
  readonly containerLogMaxWorkers?: number;
  /** Interval at which the sizes of container logs are checked: 3s or longer. Default: 10s. */
  readonly containerLogMonitorInterval?: string;
  /** Image pulls per second, on average. 0: no limit. Default: 5. */
  readonly registryPullQPS?: number;
  /** Image pulls that may exceed registryPullQPS in a burst. Default: 10. */
  readonly registryBurst?: number;
  /** Whether images are pulled one at a time. If maxParallelImagePulls is 2 or more, the default is false. Default: true. */
  readonly serializeImagePulls?: boolean;
  /** Maximum number of parallel image pulls; above 1 only if serializeImagePulls is false. Unset: no limit. */
  readonly maxParallelImagePulls?: number;
  /** Which images that are already on the node need pull credentials from each pod. Needs the feature gate KubeletEnsureSecretPulledImages, with a default of NeverVerifyPreloadedImages. */
  readonly imagePullCredentialsVerificationPolicy?: ImagePullCredentialsVerificationPolicy;
  /** Images (without tag or digest), or prefixes that end in `/*`, that need no verification under NeverVerifyAllowlistedImages. Default: []. */
  readonly preloadedImagesVerificationAllowlist?: readonly string[];
  /** Minimum age of an image, since it was first seen, before it may be removed to free space. Default: 2m0s. */
  readonly imageMinimumGCAge?: string;
  /** Longest time that an unused image is kept; longer than imageMinimumGCAge. 0s: no limit. Default: 0s. */
  readonly imageMaximumGCAge?: string;
  /** Disk usage in percent that starts image garbage collection; above imageGCLowThresholdPercent. 100: no collection for space, unless the disk is almost full and imageMaximumGCAge is set. Default: 85. */
  readonly imageGCHighThresholdPercent?: number;
  /** Disk usage in percent at which image garbage collection stops. Default: 80. */
  readonly imageGCLowThresholdPercent?: number;
  /** DNS domain of the cluster, searched before the search domains of the host. Default: ''. */
  readonly clusterDomain?: string;
  /** IP addresses of the cluster's DNS servers, for pods with dnsPolicy ClusterFirst. Default: []. */
  readonly clusterDNS?: readonly string[];
  /** Resolver file that the DNS settings of pods are based on. Empty: pods get no DNS settings from the host. Default: /etc/resolv.conf. */
  readonly resolvConf?: string;
  /** Range of pod IP addresses that a standalone kubelet (without an API server) sends to the runtime. If empty, no range is sent. Default: ''. */
  readonly podCIDR?: string;
  /** How a pod can reach itself through its Service. Default: promiscuous-bridge. */
  readonly hairpinMode?: HairpinMode;
  /** Whether the kubelet creates the chains KUBE-IPTABLES-HINT, which shows other programs the iptables variant in use, and KUBE-FIREWALL, which drops packets to 127.0.0.0/8 from other hosts. Default: true. */
  readonly makeIPTablesUtilChains?: boolean;
  /** Formerly the bit of the packet mark for masquerading. Default: 14. */
  readonly iptablesMasqueradeBit?: number;
  /** Formerly the bit of the packet mark for dropping. Default: 15. */
  readonly iptablesDropBit?: number;
  /** Port of /healthz. 0: not served. Default: 10248. */
  readonly healthzPort?: number;
  /** IP address of /healthz, or a host name that resolves to one. Default: 127.0.0.1. */
  readonly healthzBindAddress?: string;
  /** Port of the read-only server, which needs no authentication. 0: not served. Without --config, the default is 0 (upstream: 10255). Default: 0. */
  readonly readOnlyPort?: number;
  /** Whether the secured server runs. Default: true. */
  readonly enableServer?: boolean;
  /** IP address of the secured server. The read-only server listens on the loopback address. Default: 0.0.0.0. */
  readonly address?: string;
  /** Port of the secured server. Default: 10250. */
  readonly port?: number;
  /** Whether logs, exec, attach and port-forward are served. Default: true. */
  readonly enableDebuggingHandlers?: boolean;
  /** Whether lock contention is profiled if enableDebuggingHandlers is true. Default: false. */
  readonly enableContentionProfiling?: boolean;
  /** Whether /debug/pprof is served. Default: true. */
  readonly enableProfilingHandler?: boolean;
  /** Whether /debug/flags/v is served. Default: true. */
  readonly enableDebugFlagsHandler?: boolean;
  /** Whether the host's logs are served at /logs. Default: true. */
  readonly enableSystemLogHandler?: boolean;
  /** Whether /logs answers queries. Needs enableSystemLogHandler. Default: false. */
  readonly enableSystemLogQuery?: boolean;
  /** Certificate of the secured server with its chain, PEM. Empty: a self-signed certificate in --cert-dir. Default: ''. */
  readonly tlsCertFile?: string;
  /** Private key of tlsCertFile, PEM. Default: ''. */
  readonly tlsPrivateKeyFile?: string;
  /** Cipher suites of TLS 1.2 to offer, by their IANA names. Empty: the defaults. Default: []. */
  readonly tlsCipherSuites?: readonly string[];
  /** Key exchanges to offer, by their TLS numbers. Empty: the defaults. Default: []. */
  readonly tlsCurvePreferences?: readonly number[];
  /** Minimum TLS version. Empty: VersionTLS12. Default: ''. */
  readonly tlsMinVersion?: TlsVersion;
  /** Whether the client certificate is renewed through the API server. Default: false. */
  readonly rotateCertificates?: boolean;
  /** Whether the serving certificate comes from the API server. Needs the feature gate RotateKubeletServerCertificate. Default: false. */
  readonly serverTLSBootstrap?: boolean;
  /** Authentication of requests to the secured server. */
  readonly authentication?: KubeletAuthenticationV1beta1;
  /** Authorization of requests to the secured server. */
  readonly authorization?: KubeletAuthorizationV1beta1;
  /** Taints that the node gets at its registration. Default: []. */
  readonly registerWithTaints?: readonly TaintConfigurationV1beta1[];
  /** Identifier of the machine at its cloud provider. Default: ''. */
  readonly providerID?: string;
  /** Interval at which the node status is computed. Default: 10s. */
  readonly nodeStatusUpdateFrequency?: string;
  /** Interval at which an unchanged node status is sent. If a file sets nodeStatusUpdateFrequency and not this field, the default is nodeStatusUpdateFrequency. Default: 5m0s. */
  readonly nodeStatusReportFrequency?: string;
  /** Duration of the node Lease, in seconds. Default: 40. */
  readonly nodeLeaseDurationSeconds?: number;
  /** Maximum number of images in the node status. -1: all. Default: 50. */
  readonly nodeStatusMaxImages?: number;
  /** Events per second, on average. 0: no limit. Default: 50. */
  readonly eventRecordQPS?: number;
  /** Events that may exceed eventRecordQPS in a burst. Default: 100. */
  readonly eventBurst?: number;
  /** Requests to the API server per second, on average, without events and heartbeats. 0: 5. Default: 50. */
  readonly kubeAPIQPS?: number;
  /** Requests that may exceed kubeAPIQPS in a burst. Default: 100. */
  readonly kubeAPIBurst?: number;
  /** Media type of requests to the API server. Default: application/vnd.kubernetes.protobuf. */
  readonly contentType?: string;
  /** How changes of ConfigMaps and Secrets are detected. Default: Watch. */
  readonly configMapAndSecretChangeDetectionStrategy?: ChangeDetectionStrategy;
  /** Whether each pod has a cgroup, below one per QoS class (kubepods). If false, the runtime chooses the cgroup, and pod-level limits are not enforced. Default: true. */
  readonly cgroupsPerQOS?: boolean;
  /** cgroupfs or systemd. If the runtime reports its driver, that one is used. Default: cgroupfs. */
  readonly cgroupDriver?: CgroupDriver;
  /** Existing parent cgroup of kubepods. Empty: the root cgroup. No effect if cgroupsPerQOS is false. Default: ''. */
  readonly cgroupRoot?: string;
  /** Cgroup that the kubelet moves itself to. Default: ''. */
  readonly kubeletCgroups?: string;
  /** Cgroup that processes outside of containers are moved to. Needs cgroupRoot. Default: ''. */
  readonly systemCgroups?: string;
  /** Whether the kubelet refuses to start on a host with cgroup v1. Default: true. */
  readonly failCgroupV1?: boolean;
  /** Whether the OOM killer kills a single process of a container instead of all. Must not be false on cgroup v1. */
  readonly singleProcessOOMKill?: boolean;
  /** Position of memory.high between the memory request and limit of a container, from 0 to 1: above it, the kernel throttles the container. Needs the feature gate MemoryQoS. Default: 0.9. */
  readonly memoryThrottlingFactor?: number;
  /** Whether requested memory is protected from reclaim. TieredReservation needs the feature gate MemoryQoS. Default: None. */
  readonly memoryReservationPolicy?: MemoryReservationPolicy;
  /** oom_score_adj of the kubelet: -1000 to 1000. Default: -999. */
  readonly oomScoreAdj?: number;
  /** Resources reserved for the operating system: quantities of cpu, memory, ephemeral-storage and pid. Default: {}. */
  readonly systemReserved?: Readonly<Record<string, string>>;
  /** Resources reserved for Kubernetes: quantities of cpu, memory, ephemeral-storage and pid. Default: {}. */
  readonly kubeReserved?: Readonly<Record<string, string>>;
  /** Cgroup on which systemReserved is enforced. Default: ''. */
  readonly systemReservedCgroup?: string;
  /** Cgroup on which kubeReserved is enforced. Default: ''. */
  readonly kubeReservedCgroup?: string;
  /** Cgroups on which limits are enforced: pods, system-reserved or system-reserved-compressible, kube-reserved or kube-reserved-compressible; or only none. Default: ["pods"]. */
  readonly enforceNodeAllocatable?: readonly string[];
  /** Percentage of the requests of higher QoS classes that lower classes may not use; memory only. Needs the feature gate QOSReserved. Default: {}. */
  readonly qosReserved?: Readonly<Record<string, string>>;
  /** CPUs reserved for the system, as a list of numbers and ranges (0-1,6). Replaces cpu in systemReserved and kubeReserved. Default: ''. */
  readonly reservedSystemCPUs?: string;
  /** Memory reserved on each NUMA node, for the memory manager. The total of each resource must equal what kubeReserved, systemReserved and evictionHard reserve. Default: []. */
  readonly reservedMemory?: readonly MemoryReservationV1beta1[];
  /** none, or static: Guaranteed containers that request whole CPUs get exclusive CPUs. Default: none. */
  readonly cpuManagerPolicy?: CpuManagerPolicy;
  /** Options of the CPU manager policy static: full-pcpus-only, distribute-cpus-across-numa, strict-cpu-reservation, prefer-align-cpus-by-uncorecache; with the feature gate CPUManagerPolicyAlphaOptions also align-by-socket and distribute-cpus-across-cores. Default: {}. */
  readonly cpuManagerPolicyOptions?: Readonly<Record<string, string>>;
  /** Interval at which the CPU manager reconciles cpusets. Default: 10s. */
  readonly cpuManagerReconcilePeriod?: string;
  /** None, or Static: Guaranteed pods get memory from as few NUMA nodes as possible. Default: None. */
  readonly memoryManagerPolicy?: MemoryManagerPolicy;
  /** How strictly the CPUs, memory and devices of a pod must be aligned on NUMA nodes. Default: none. */
  readonly topologyManagerPolicy?: TopologyManagerPolicy;
  /** Whether the topology policy aligns containers or whole pods. Default: container. */
  readonly topologyManagerScope?: TopologyManagerScope;
  /** Options of the topology manager policy: prefer-closest-numa-nodes, max-allowable-numa-nodes. Default: {}. */
  readonly topologyManagerPolicyOptions?: Readonly<Record<string, string>>;
  /** Hard eviction thresholds (no grace period) by signal, as quantities or percentages. Default with --config: memory.available 100Mi, nodefs.available 10%, nodefs.inodesFree 5%, imagefs.available 15%, imagefs.inodesFree 5%. Default without --config: none. Default: {}. */
  readonly evictionHard?: Readonly<Record<string, string>>;
  /** Soft eviction thresholds by signal: pods are evicted after a grace period. Default: {}. */
  readonly evictionSoft?: Readonly<Record<string, string>>;
  /** Time that each soft threshold must stay crossed before pods are evicted. Default: {}. */
  readonly evictionSoftGracePeriod?: Readonly<Record<string, string>>;
  /** Amount by signal that an eviction frees beyond the threshold. Default: {}. */
  readonly evictionMinimumReclaim?: Readonly<Record<string, string>>;
  /** Time that a pressure condition stays True after the pressure has ended. Default: 5m0s. */
  readonly evictionPressureTransitionPeriod?: string;
  /** Longest grace period in seconds of a pod in a soft eviction. Negative: the pod's own grace period. Default: 0. */
  readonly evictionMaxPodGracePeriod?: number;
  /** Whether signals that are missing in evictionHard of the --config file keep their default threshold. Default: false. */
  readonly mergeDefaultEvictionSettings?: boolean;
  /** Whether the kernel notifies the kubelet of crossed memory thresholds. Default: false. */
  readonly kernelMemcgNotification?: boolean;
  /** Whether the kubelet refuses to start on a host with swap. Default: true. */
  readonly failSwapOn?: boolean;
  /** Swap of containers. */
  readonly memorySwap?: MemorySwapConfigurationV1beta1;
  /** Whether limits of ephemeral storage and sizes of emptyDir volumes are enforced. Default: true. */
  readonly localStorageCapacityIsolation?: boolean;
  /** Time that a shutdown of the node waits for pods: 0s, or 1s and more. Default: 0s. */
  readonly shutdownGracePeriod?: string;
  /** Part of shutdownGracePeriod that is reserved for critical pods: 0s, or 1s and more. Default: 0s. */
  readonly shutdownGracePeriodCriticalPods?: string;
  /** Shutdown grace periods by pod priority. Replaces shutdownGracePeriod. Needs the feature gate GracefulNodeShutdownBasedOnPodPriority. Default: []. */
  readonly shutdownGracePeriodByPodPriority?: readonly ShutdownGracePeriodByPodPriorityV1beta1[];
  /** Whether the kubelet refuses to start if kernel settings differ from the expected values. If false, the kubelet changes the settings. Default: false. */
  readonly protectKernelDefaults?: boolean;
  /** Maximum number of open files of the kubelet, set with prlimit of util-linux. A hard limit can be raised only with CAP_SYS_RESOURCE. Default: 1000000. */
  readonly maxOpenFiles?: number;
  /** Directory of flexVolume drivers. It is not created. Default: /usr/libexec/kubernetes/kubelet-plugins/volume/exec/. */
  readonly volumePluginDir?: string;
  /** Interval at which the usage of volumes is measured. Negative: never. Default: 1m0s. */
  readonly volumeStatsAggPeriod?: string;
  /** Whether a controller attaches volumes to this node, instead of the kubelet. Default: true. */
  readonly enableControllerAttachDetach?: boolean;
  /** Time after which a stream (exec, attach, port-forward) without traffic is closed. Default: 4h0m0s. */
  readonly streamingConnectionIdleTimeout?: string;
  /** Log of the kubelet. */
  readonly logging?: LoggingConfigurationV1beta1;
  /** Traces, sent by OTLP over gRPC. */
  readonly tracing?: TracingConfigurationV1beta1;
  /** Previous minor version, to export metrics that this version hides. No other value is allowed. Default: ''. */
  readonly showHiddenMetricsForVersion?: string;
  /** Feature gates by name. Gates of drop-in files and flags are added to those of the file. Default: {}. */
  readonly featureGates?: Readonly<Record<string, boolean>>;
}

/** The flags of the command line that are not fields of the configuration. */
export interface KubeletFlags {
  /** Configuration file, relative to the working directory. Flags override its values. Default: ''. */
  readonly config: string;
  /** Directory of drop-in files that override the configuration file. Files that end in .conf are read in lexical order, including subdirectories. Default: ''. */
  readonly configDir: string;
  /** Whether the kubelet refuses to start if there are unknown fields, duplicate keys, documents after the first or invalid clusterDNS entries. If false, they are warnings. Default: false. */
  readonly strictConfig: boolean;
  /** Kubeconfig file of the API server. Empty: the kubelet runs standalone. Default: ''. */
  readonly kubeconfig: string;
  /** Kubeconfig file for requesting the first client certificate, used if the file of --kubeconfig does not exist. Default: ''. */
  readonly bootstrapKubeconfig: string;
  /** Name of the node. Empty: the host name. Default: ''. */
  readonly hostnameOverride: string;
  /** IP address of the node, or one IPv4 and one IPv6 address separated by a comma. Empty: the default IPv4 address, else the default IPv6 address. Default: ''. */
  readonly nodeIp: string;
  /** Directory of the TLS certificates, independent of --root-dir. A directory with certificates of another node is refused. Default: /var/lib/kubelet/pki. */
  readonly certDir: string;
  /** external if a cloud controller manager completes the node, else empty. Default: ''. */
  readonly cloudProvider: string;
  /** Directory of the kubelet: pods, volumes, plugins, state. The kubelet locks it; a second kubelet with the same directory does not start. Default: /var/lib/kubelet. */
  readonly rootDir: string;
  /** Unix socket on which nodectl reaches this kubelet: an absolute path in a directory of mode 0700. The socket serves the paths of the secured port to root. Empty: no socket. Not a flag of the Go kubelet. Default: ''. */
  readonly adminSocket: string;
  /** Whether a page about the node is served at /dashboard/ of the secured port, to users who may get nodes/proxy, and of the admin socket. Not a flag of the Go kubelet. Default: false. */
  readonly dashboard: boolean;
  /** Port on 127.0.0.1 that serves the page about the node without TLS. Its address, which contains a secret, is in the file dashboard-url of --root-dir. 0: no port. Not a flag of the Go kubelet. Default: 0. */
  readonly dashboardPort: number;
  /** Labels that the node gets at its registration: key=value, separated by commas. In the namespaces kubernetes.io and k8s.io only labels that kubelets may set. Default: ''. */
  readonly nodeLabels: Readonly<Record<string, string>>;
  /** File that only one kubelet at a time can lock. The kubelet waits until it has the lock. Empty: no file. Default: ''. */
  readonly lockFile: string;
  /** Whether the kubelet exits if another process waits for the lock, or the lock file is removed. Needs --lock-file. Default: false. */
  readonly exitOnLockContention: boolean;
  /** Cgroup of the container runtime, for its stats. Default: ''. */
  readonly runtimeCgroups: string;
  /** Configuration file of credential provider plugins, or a directory of such files. Default: ''. */
  readonly imageCredentialProviderConfig: string;
  /** Directory of credential provider plugins. Default: ''. */
  readonly imageCredentialProviderBinDir: string;
  /** Minimum time that a dead container is kept. Default: 0s. */
  readonly minimumContainerTtlMs: number;
  /** Maximum number of dead instances that are kept per container. Default: 1. */
  readonly maximumDeadContainersPerContainer: number;
  /** Maximum number of dead containers that are kept on the node. Negative: no limit. Default: -1. */
  readonly maximumDeadContainers: number;
  /** Program that mounts volumes. Empty: the mount command of the host. Default: ''. */
  readonly experimentalMounterPath: string;
  /** Whether hard eviction thresholds are ignored in the calculation of allocatable resources. Default: false. */
  readonly experimentalAllocatableIgnoreEviction: boolean;
  /** Prints the version and exits. raw prints all parts of the version. vX.Y.Z is refused. Default: false. */
  readonly version: 'false' | 'true' | 'raw';
  /** Prints the flags and exits. Default: false. */
  readonly help: boolean;
  /** With --help: prints the deprecated flags too. Default: false. */
  readonly all: boolean;
}
