// Written from the table in src/schema and src/flags by `pnpm run docs`; change it there.

/** How long a container that keeps failing waits for its next start. */
export interface CrashLoopBackOffConfiguration {
  /** The longest back-off between two starts of a container: 1s to 300s. Default 300s where the feature gate KubeletCrashLoopBackOffMax is on; not allowed where it is off. */
  readonly maxContainerRestartPeriodMs?: number;
}

/** User namespaces of pods. */
export interface UserNamespacesConfiguration {
  /** How many user and group IDs a pod with a user namespace gets: a multiple of 65536. Upstream uses 65536 where unset. */
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
  /** The authorities whose client certificates are believed, PEM. Empty: none. Default: ''. */
  readonly clientCAFile: string;
}

/** Bearer tokens, reviewed by the API server. */
export interface KubeletWebhookAuthentication {
  /** Whether bearer tokens are reviewed by the API server. Default false where no --config is given. Default: true. */
  readonly enabled: boolean;
  /** How long a review is believed. Default: 2m0s. */
  readonly cacheTtlMs: number;
}

/** Requests that show nothing. */
export interface KubeletAnonymousAuthentication {
  /** Whether requests that show neither a certificate nor a token are let in, as system:anonymous. Default true where no --config is given. Default: false. */
  readonly enabled: boolean;
}

/** How requests to the secured server are told apart. */
export interface KubeletAuthentication {
  /** Client certificates. */
  readonly x509: KubeletX509Authentication;
  /** Bearer tokens, reviewed by the API server. */
  readonly webhook: KubeletWebhookAuthentication;
  /** Requests that show nothing. */
  readonly anonymous: KubeletAnonymousAuthentication;
}

export type KubeletAuthorizationMode = 'AlwaysAllow' | 'Webhook';

/** Decisions of the API server. */
export interface KubeletWebhookAuthorization {
  /** How long a yes is believed. Default: 5m0s. */
  readonly cacheAuthorizedTtlMs: number;
  /** How long a no is believed. Default: 30s. */
  readonly cacheUnauthorizedTtlMs: number;
}

/** What requests to the secured server may do. */
export interface KubeletAuthorization {
  /** AlwaysAllow, or Webhook: the API server decides. Default AlwaysAllow where no --config is given. Default: Webhook. */
  readonly mode: KubeletAuthorizationMode;
  /** Decisions of the API server. */
  readonly webhook: KubeletWebhookAuthorization;
}

export type TaintEffect = '' | 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';

/** A taint of the node. */
export interface TaintConfiguration {
  /** The key. Default: ''. */
  readonly key: string;
  /** The value. Default: ''. */
  readonly value: string;
  /** What happens to pods that do not tolerate it. Default: ''. */
  readonly effect: TaintEffect;
  /** Not allowed in a configuration. */
  readonly timeAdded?: string;
}

export type ChangeDetectionStrategy = 'Get' | 'Cache' | 'Watch';

export type CgroupDriver = 'cgroupfs' | 'systemd';

export type MemoryReservationPolicy = 'None' | 'TieredReservation';

/** Memory of one NUMA node that is kept back from pods. */
export interface MemoryReservation {
  /** The number of the NUMA node. Default: 0. */
  readonly numaNode: number;
  /** Quantities of memory and of hugepages-<size>. Default: {}. */
  readonly limits: Readonly<Record<string, string>>;
}

export type CpuManagerPolicy = 'none' | 'static';

export type MemoryManagerPolicy = 'None' | 'Static';

export type TopologyManagerPolicy = 'none' | 'best-effort' | 'restricted' | 'single-numa-node';

export type TopologyManagerScope = 'container' | 'pod';

export type SwapBehavior = '' | 'NoSwap' | 'LimitedSwap';

/** The use of swap by containers. */
export interface MemorySwapConfiguration {
  /** NoSwap (the same as empty), or LimitedSwap: in proportion to the memory request, on cgroup v2 only. Default: ''. */
  readonly swapBehavior: SwapBehavior;
}

/** How long pods of a priority, or a higher one, get in a shutdown. */
export interface ShutdownGracePeriodByPodPriority {
  /** The lowest priority that this entry is for. Default: 0. */
  readonly priority: number;
  /** The grace period in seconds. Default: 0. */
  readonly shutdownGracePeriodSeconds: number;
}

export type LogFormat = 'text' | 'json';

/** The verbosity of some source files. */
export interface VModuleItem {
  /** A file name without suffix, or a glob of such. Default: ''. */
  readonly filePattern: string;
  /** Its verbosity. Default: 0. */
  readonly verbosity: number;
}

/** Options of the format text. */
export interface TextLogOptions {
  /** Whether errors go to stderr and the rest to stdout. Needs the feature gate LoggingAlphaOptions. Default: false. */
  readonly splitStream: boolean;
  /** The buffer of the info stream. Needs the feature gate LoggingAlphaOptions. Default: 0. */
  readonly infoBufferSizeBytes: number;
}

/** Options of the format json. */
export interface JsonLogOptions {
  /** Whether errors go to stderr and the rest to stdout. Needs the feature gate LoggingAlphaOptions. Default: false. */
  readonly splitStream: boolean;
  /** The buffer of the info stream. Needs the feature gate LoggingAlphaOptions. Default: 0. */
  readonly infoBufferSizeBytes: number;
}

/** Options of each log format. */
export interface LogFormatOptions {
  /** Options of the format text. */
  readonly text: TextLogOptions;
  /** Options of the format json. */
  readonly json: JsonLogOptions;
}

/** The kubelet's own log. */
export interface LoggingConfiguration {
  /** The form of log lines. Default: text. */
  readonly format: LogFormat;
  /** How long a log line may wait in a buffer. A whole number is nanoseconds. Default: 5s. */
  readonly flushFrequencyMs: number;
  /** How much is logged; 0 is least, 4 is for debugging, 10 is everything. Default: 0. */
  readonly verbosity: number;
  /** Verbosity by source file. Only with format text. Default: []. */
  readonly vmodule: readonly VModuleItem[];
  /** Options of each log format. */
  readonly options: LogFormatOptions;
}

/** Traces, sent by OTLP over gRPC. */
export interface TracingConfiguration {
  /** The collector, as a gRPC name. Upstream uses localhost:4317 where unset. */
  readonly endpoint?: string;
  /** How many of a million spans without a parent are sampled. Unset: none. */
  readonly samplingRatePerMillion?: number;
}

/**
 * The configuration that the kubelet works with: every field of KubeletConfiguration v1beta1, defaulted and checked,
 * durations in milliseconds (`...Ms`), sizes in bytes (`...Bytes`). Fields without a default are optional.
 */
export interface KubeletConfiguration {
  /** A manifest of a static pod, or a directory of them. Empty: no static pods from files. Default: ''. */
  readonly staticPodPath: string;
  /** How often the manifests of staticPodPath are read again, besides when they change. Default: 20s. */
  readonly fileCheckFrequencyMs: number;
  /** A URL that serves manifests of static pods. Empty: no static pods from HTTP. Default: ''. */
  readonly staticPodURL: string;
  /** HTTP headers sent with each request for staticPodURL. Their values appear in no error and no log. Default: {}. */
  readonly staticPodURLHeader: Readonly<Record<string, readonly string[]>>;
  /** How often staticPodURL is asked. Default: 20s. */
  readonly httpCheckFrequencyMs: number;
  /** The longest time between two syncs of a pod in which nothing happened. Default: 1m0s. */
  readonly syncFrequencyMs: number;
  /** How many pods this node runs at most. Default: 110. */
  readonly maxPods: number;
  /** How many pods this node runs at most for each core; never more than maxPods. 0: no such limit. Default: 0. */
  readonly podsPerCore: number;
  /** How many processes a pod may have. -1: as many as the node allows. Without effect where cgroupsPerQOS is false. Default: -1. */
  readonly podPidsLimit: number;
  /** Formerly: start the static pods, then exit. True is refused, as upstream refuses it. Default: false. */
  readonly runOnce: boolean;
  /** How long a container that keeps failing waits for its next start. */
  readonly crashLoopBackOff: CrashLoopBackOffConfiguration;
  /** Whether the kubelet registers its node with the API server. Without --kubeconfig there is nothing to register with, and both values mean the same. Default: true. */
  readonly registerNode: boolean;
  /** Whether a container that names no seccomp profile runs with RuntimeDefault rather than Unconfined. Default: false. */
  readonly seccompDefault: boolean;
  /** Sysctls, or patterns of them that end in `*`, that pods may set although they are not safe. Default: []. */
  readonly allowedUnsafeSysctls: readonly string[];
  /** User namespaces of pods. */
  readonly userNamespaces?: UserNamespacesConfiguration;
  /** The socket of the container runtime's CRI server. Default: unix:///run/containerd/containerd.sock. */
  readonly containerRuntimeEndpoint: string;
  /** The socket of the CRI image service. Empty: containerRuntimeEndpoint. Default: ''. */
  readonly imageServiceEndpoint: string;
  /** The deadline of a request to the runtime; pulls, logs, exec and attach have none or one of their own. Default: 2m0s. */
  readonly runtimeRequestTimeoutMs: number;
  /** Whether CPU limits become CFS quotas. Default: true. */
  readonly cpuCFSQuota: boolean;
  /** The period of CFS quotas: 1ms to 1s. A value other than 100ms needs the feature gate CustomCPUCFSQuotaPeriod. Default: 100ms. */
  readonly cpuCFSQuotaPeriodMs: number;
  /** The root of pods' log directories: absolute, normalised, ASCII. Default: /var/log/pods. */
  readonly podLogsDir: string;
  /** The size at which a container log is rotated. Negative: logs are not rotated. Default: 10Mi. */
  readonly containerLogMaxSizeBytes: number;
  /** How many log files a container keeps, the one written to included: 2 or more. Default: 5. */
  readonly containerLogMaxFiles: number;
  /** How many logs are rotated at a time. Default: 1. */
  readonly containerLogMaxWorkers: number;
  /** How often container logs are measured: 3s or longer. Default: 10s. */
  readonly containerLogMonitorIntervalMs: number;
  /** How many pulls start per second in the long run. 0: no limit. Default: 5. */
  readonly registryPullQPS: number;
  /** How many pulls may start at once above registryPullQPS. Default: 10. */
  readonly registryBurst: number;
  /** Whether images are pulled one at a time. Default true, or false where maxParallelImagePulls is 2 or more. Default: true. */
  readonly serializeImagePulls: boolean;
  /** How many images are pulled at a time; above 1 only where serializeImagePulls is false. Unset: no limit. */
  readonly maxParallelImagePulls?: number;
  /** For which images that are on the node already a pod has to show that it may pull them. Default NeverVerifyPreloadedImages where the feature gate KubeletEnsureSecretPulledImages is on; not allowed where it is off. */
  readonly imagePullCredentialsVerificationPolicy?: ImagePullCredentialsVerificationPolicy;
  /** Images without tag or digest, or prefixes that end in `/*`, that need no verification under NeverVerifyAllowlistedImages. Default: []. */
  readonly preloadedImagesVerificationAllowlist: readonly string[];
  /** How long an image stays, from when it was first seen, before it may be removed for its space. Default: 2m0s. */
  readonly imageMinimumGCAgeMs: number;
  /** How long an image may stay unused; longer than imageMinimumGCAge. 0s: for ever. Default: 0s. */
  readonly imageMaximumGCAgeMs: number;
  /** The disk usage in percent that starts image collection; above imageGCLowThresholdPercent. 100: never, unless the disk is all but full and imageMaximumGCAge is set. Default: 85. */
  readonly imageGCHighThresholdPercent: number;
  /** The disk usage in percent that image collection frees down to. Default: 80. */
  readonly imageGCLowThresholdPercent: number;
  /** The cluster's DNS domain, searched before the host's. Default: ''. */
  readonly clusterDomain: string;
  /** IP addresses of the cluster's DNS servers, given to pods with dnsPolicy ClusterFirst. Default: []. */
  readonly clusterDNS: readonly string[];
  /** The resolver file that pods' DNS settings start from. Empty: pods get no DNS settings from the host. Default: /etc/resolv.conf. */
  readonly resolvConf: string;
  /** The range of pod IP addresses of a kubelet that has no API server: the runtime is told. Empty: it is told none. Default: ''. */
  readonly podCIDR: string;
  /** How a pod reaches itself through its service. Default: promiscuous-bridge. */
  readonly hairpinMode: HairpinMode;
  /** Whether the kubelet creates the chain KUBE-IPTABLES-HINT, which tells others the flavour of iptables in use. Default: true. */
  readonly makeIPTablesUtilChains: boolean;
  /** Formerly the bit of the packet mark for masquerading. Default: 14. */
  readonly iptablesMasqueradeBit: number;
  /** Formerly the bit of the packet mark for dropping. Default: 15. */
  readonly iptablesDropBit: number;
  /** The port of /healthz. 0: not served. Default: 10248. */
  readonly healthzPort: number;
  /** The IP address of /healthz, or a host name that has one. Default: 127.0.0.1. */
  readonly healthzBindAddress: string;
  /** The port of the server that asks nobody who they are and changes nothing. 0: not served, also where no --config is given (upstream then serves it on 10255). Default: 0. */
  readonly readOnlyPort: number;
  /** Whether the secured server runs. Default: true. */
  readonly enableServer: boolean;
  /** The IP address of the secured server. The read-only one is on the loopback. Default: 0.0.0.0. */
  readonly address: string;
  /** The port of the secured server. Default: 10250. */
  readonly port: number;
  /** Whether logs, exec, attach and port-forward are served. Default: true. */
  readonly enableDebuggingHandlers: boolean;
  /** Whether contention is profiled, where enableDebuggingHandlers is true. Default: false. */
  readonly enableContentionProfiling: boolean;
  /** Whether /debug/pprof is served. Default: true. */
  readonly enableProfilingHandler: boolean;
  /** Whether /debug/flags/v is served. Default: true. */
  readonly enableDebugFlagsHandler: boolean;
  /** Whether the host's logs are served at /logs. Default: true. */
  readonly enableSystemLogHandler: boolean;
  /** Whether /logs answers queries. Needs enableSystemLogHandler. Default: false. */
  readonly enableSystemLogQuery: boolean;
  /** The secured server's certificate and its chain, PEM. Empty: self-signed, in --cert-dir. Default: ''. */
  readonly tlsCertFile: string;
  /** The private key of tlsCertFile, PEM. Default: ''. */
  readonly tlsPrivateKeyFile: string;
  /** The cipher suites of TLS 1.2 that are offered, by their IANA names. Empty: the default ones. Default: []. */
  readonly tlsCipherSuites: readonly string[];
  /** The key exchanges that are offered, by their TLS numbers. Empty: the default ones. Default: []. */
  readonly tlsCurvePreferences: readonly number[];
  /** The oldest TLS version that is offered. Empty: VersionTLS12. Default: ''. */
  readonly tlsMinVersion: TlsVersion;
  /** Whether the client certificate is renewed through the API server. Default: false. */
  readonly rotateCertificates: boolean;
  /** Whether the serving certificate comes from the API server. Needs the feature gate RotateKubeletServerCertificate. Default: false. */
  readonly serverTLSBootstrap: boolean;
  /** How requests to the secured server are told apart. */
  readonly authentication: KubeletAuthentication;
  /** What requests to the secured server may do. */
  readonly authorization: KubeletAuthorization;
  /** Taints that the node gets when it is registered. Default: []. */
  readonly registerWithTaints: readonly TaintConfiguration[];
  /** The machine's name in its provider's inventory. Default: ''. */
  readonly providerID: string;
  /** How often the status of the node is looked at. Default: 10s. */
  readonly nodeStatusUpdateFrequencyMs: number;
  /** How often a status that did not change is sent. Default 5m, or nodeStatusUpdateFrequency where a file sets that. Default: 5m0s. */
  readonly nodeStatusReportFrequencyMs: number;
  /** How long the lease of the node holds, in seconds. Default: 40. */
  readonly nodeLeaseDurationSeconds: number;
  /** How many images the status of the node lists. -1: all. Default: 50. */
  readonly nodeStatusMaxImages: number;
  /** How many events are sent per second in the long run. 0: no limit. Default: 50. */
  readonly eventRecordQPS: number;
  /** How many events may be sent at once above eventRecordQPS. Default: 100. */
  readonly eventBurst: number;
  /** How many requests go to the API server per second in the long run; events and heartbeats apart. 0: 5. Default: 50. */
  readonly kubeAPIQPS: number;
  /** How many requests may go to the API server at once above kubeAPIQPS. Default: 100. */
  readonly kubeAPIBurst: number;
  /** The media type of requests to the API server. Default: application/vnd.kubernetes.protobuf. */
  readonly contentType: string;
  /** How changes of config maps and secrets are noticed. Default: Watch. */
  readonly configMapAndSecretChangeDetectionStrategy: ChangeDetectionStrategy;
  /** Whether pods live in cgroups of their own below one per QoS class (kubepods). false: the runtime chooses, and nothing is enforced for a pod as a whole. Default: true. */
  readonly cgroupsPerQOS: boolean;
  /** How cgroups are made: cgroupfs or systemd. A runtime that reports its driver decides instead. Default: cgroupfs. */
  readonly cgroupDriver: CgroupDriver;
  /** The cgroup that kubepods is made in; it has to be there. Empty: the root. Without effect where cgroupsPerQOS is false. Default: ''. */
  readonly cgroupRoot: string;
  /** The cgroup that the kubelet moves itself to. Default: ''. */
  readonly kubeletCgroups: string;
  /** The cgroup that processes outside any container are moved to. Needs cgroupRoot. Default: ''. */
  readonly systemCgroups: string;
  /** Whether the kubelet refuses to start on a host with cgroup v1. Default: true. */
  readonly failCgroupV1: boolean;
  /** Whether the OOM killer kills one process of a container instead of all. On cgroup v1 it cannot be false. */
  readonly singleProcessOOMKill?: boolean;
  /** The share of its memory limit at which a container is slowed down (memory.high). Used with the feature gate MemoryQoS. Default: 0.9. */
  readonly memoryThrottlingFactor: number;
  /** Whether requested memory is protected from reclaim. TieredReservation needs the feature gate MemoryQoS. Default: None. */
  readonly memoryReservationPolicy: MemoryReservationPolicy;
  /** The kubelet's own oom_score_adj: -1000 to 1000. Default: -999. */
  readonly oomScoreAdj: number;
  /** What is kept back for the operating system: quantities of cpu, memory, ephemeral-storage and pid. Default: {}. */
  readonly systemReserved: Readonly<Record<string, string>>;
  /** What is kept back for Kubernetes: quantities of cpu, memory, ephemeral-storage and pid. Default: {}. */
  readonly kubeReserved: Readonly<Record<string, string>>;
  /** The cgroup that systemReserved is enforced on. Default: ''. */
  readonly systemReservedCgroup: string;
  /** The cgroup that kubeReserved is enforced on. Default: ''. */
  readonly kubeReservedCgroup: string;
  /** What is held to its share: pods, system-reserved or system-reserved-compressible, kube-reserved or kube-reserved-compressible; or none alone. Default: ["pods"]. */
  readonly enforceNodeAllocatable: readonly string[];
  /** The percentage of requests of guaranteed pods that lower classes may not use; memory only. Needs the feature gate QOSReserved. Default: {}. */
  readonly qosReserved: Readonly<Record<string, string>>;
  /** CPUs kept back for the system, as a list of numbers and ranges (0-1,6); instead of CPU in systemReserved and kubeReserved. Default: ''. */
  readonly reservedSystemCPUs: string;
  /** Memory kept back on each NUMA node, for the memory manager. Default: []. */
  readonly reservedMemory: readonly MemoryReservation[];
  /** none, or static: whole CPUs for guaranteed containers that request them. Default: none. */
  readonly cpuManagerPolicy: CpuManagerPolicy;
  /** Options of the CPU manager policy. Default: {}. */
  readonly cpuManagerPolicyOptions: Readonly<Record<string, string>>;
  /** How often the CPU manager compares cpusets with its state. Default: 10s. */
  readonly cpuManagerReconcilePeriodMs: number;
  /** None, or Static: memory of guaranteed pods from the fewest NUMA nodes. Default: None. */
  readonly memoryManagerPolicy: MemoryManagerPolicy;
  /** Whether pods are admitted by how their CPUs, memory and devices fit on NUMA nodes. Default: none. */
  readonly topologyManagerPolicy: TopologyManagerPolicy;
  /** Whether the topology policy looks at containers or at whole pods. Default: container. */
  readonly topologyManagerScope: TopologyManagerScope;
  /** Options of the topology manager policy. Default: {}. */
  readonly topologyManagerPolicyOptions: Readonly<Record<string, string>>;
  /** Thresholds by signal, as quantities or percentages, below which pods are evicted at once. Default with --config: memory.available 100Mi, nodefs.available 10%, nodefs.inodesFree 5%, imagefs.available 15%, imagefs.inodesFree 5%; without: none. Default: {}. */
  readonly evictionHard: Readonly<Record<string, string>>;
  /** Thresholds by signal below which pods are evicted after a grace period. Default: {}. */
  readonly evictionSoft: Readonly<Record<string, string>>;
  /** How long each soft threshold has to hold. Default: {}. */
  readonly evictionSoftGracePeriodMs: Readonly<Record<string, number>>;
  /** How much more than the threshold an eviction frees, by signal. Default: {}. */
  readonly evictionMinimumReclaim: Readonly<Record<string, string>>;
  /** How long a pressure condition outlasts the pressure. Default: 5m0s. */
  readonly evictionPressureTransitionPeriodMs: number;
  /** The longest grace period in seconds of a pod in a soft eviction. Negative: the pod's own. Default: 0. */
  readonly evictionMaxPodGracePeriodSeconds: number;
  /** Whether signals that evictionHard of the --config file does not name keep their default threshold. Default: false. */
  readonly mergeDefaultEvictionSettings: boolean;
  /** Whether the kernel tells when a memory threshold is crossed, instead of being asked. Default: false. */
  readonly kernelMemcgNotification: boolean;
  /** Whether the kubelet refuses to start on a host with swap. Default: true. */
  readonly failSwapOn: boolean;
  /** The use of swap by containers. */
  readonly memorySwap: MemorySwapConfiguration;
  /** Whether limits of ephemeral storage and sizes of emptyDir volumes are enforced. Default: true. */
  readonly localStorageCapacityIsolation: boolean;
  /** How long the shutdown of the node waits for pods: 0s, or 1s and more. Default: 0s. */
  readonly shutdownGracePeriodMs: number;
  /** The part of shutdownGracePeriod that is left to critical pods: 0s, or 1s and more. Default: 0s. */
  readonly shutdownGracePeriodCriticalPodsMs: number;
  /** Shutdown grace periods by priority; instead of shutdownGracePeriod. Needs the feature gate GracefulNodeShutdownBasedOnPodPriority. Default: []. */
  readonly shutdownGracePeriodByPodPriority: readonly ShutdownGracePeriodByPodPriority[];
  /** Whether kernel settings that differ from what the kubelet expects stop it, instead of being changed. Default: false. */
  readonly protectKernelDefaults: boolean;
  /** How many files the kubelet may have open. Default: 1000000. */
  readonly maxOpenFiles: number;
  /** Where flex volume plugins are. Default: /usr/libexec/kubernetes/kubelet-plugins/volume/exec/. */
  readonly volumePluginDir: string;
  /** How often volumes are measured. Negative: never. Default: 1m0s. */
  readonly volumeStatsAggPeriodMs: number;
  /** Whether a controller attaches volumes to this node, rather than the kubelet. Default: true. */
  readonly enableControllerAttachDetach: boolean;
  /** How long both ends of a stream (exec, attach, port-forward) may be silent. Default: 4h0m0s. */
  readonly streamingConnectionIdleTimeoutMs: number;
  /** The kubelet's own log. */
  readonly logging: LoggingConfiguration;
  /** Traces, sent by OTLP over gRPC. */
  readonly tracing?: TracingConfiguration;
  /** The previous minor version, to see metrics that this version hides; no other value is allowed. Default: ''. */
  readonly showHiddenMetricsForVersion: string;
  /** Feature gates by name. What drop-ins and flags set is added to what the file sets. Default: {}. */
  readonly featureGates: Readonly<Record<string, boolean>>;
}

/** How long a container that keeps failing waits for its next start. */
export interface CrashLoopBackOffConfigurationV1beta1 {
  /** The longest back-off between two starts of a container: 1s to 300s. Default 300s where the feature gate KubeletCrashLoopBackOffMax is on; not allowed where it is off. */
  readonly maxContainerRestartPeriod?: string;
}

/** User namespaces of pods. */
export interface UserNamespacesConfigurationV1beta1 {
  /** How many user and group IDs a pod with a user namespace gets: a multiple of 65536. Upstream uses 65536 where unset. */
  readonly idsPerPod?: number;
}

/** Client certificates. */
export interface KubeletX509AuthenticationV1beta1 {
  /** The authorities whose client certificates are believed, PEM. Empty: none. Default: ''. */
  readonly clientCAFile?: string;
}

/** Bearer tokens, reviewed by the API server. */
export interface KubeletWebhookAuthenticationV1beta1 {
  /** Whether bearer tokens are reviewed by the API server. Default false where no --config is given. Default: true. */
  readonly enabled?: boolean;
  /** How long a review is believed. Default: 2m0s. */
  readonly cacheTTL?: string;
}

/** Requests that show nothing. */
export interface KubeletAnonymousAuthenticationV1beta1 {
  /** Whether requests that show neither a certificate nor a token are let in, as system:anonymous. Default true where no --config is given. Default: false. */
  readonly enabled?: boolean;
}

/** How requests to the secured server are told apart. */
export interface KubeletAuthenticationV1beta1 {
  /** Client certificates. */
  readonly x509?: KubeletX509AuthenticationV1beta1;
  /** Bearer tokens, reviewed by the API server. */
  readonly webhook?: KubeletWebhookAuthenticationV1beta1;
  /** Requests that show nothing. */
  readonly anonymous?: KubeletAnonymousAuthenticationV1beta1;
}

/** Decisions of the API server. */
export interface KubeletWebhookAuthorizationV1beta1 {
  /** How long a yes is believed. Default: 5m0s. */
  readonly cacheAuthorizedTTL?: string;
  /** How long a no is believed. Default: 30s. */
  readonly cacheUnauthorizedTTL?: string;
}

/** What requests to the secured server may do. */
export interface KubeletAuthorizationV1beta1 {
  /** AlwaysAllow, or Webhook: the API server decides. Default AlwaysAllow where no --config is given. Default: Webhook. */
  readonly mode?: KubeletAuthorizationMode;
  /** Decisions of the API server. */
  readonly webhook?: KubeletWebhookAuthorizationV1beta1;
}

/** A taint of the node. */
export interface TaintConfigurationV1beta1 {
  /** The key. Default: ''. */
  readonly key?: string;
  /** The value. Default: ''. */
  readonly value?: string;
  /** What happens to pods that do not tolerate it. Default: ''. */
  readonly effect?: TaintEffect;
  /** Not allowed in a configuration. */
  readonly timeAdded?: string;
}

/** Memory of one NUMA node that is kept back from pods. */
export interface MemoryReservationV1beta1 {
  /** The number of the NUMA node. Default: 0. */
  readonly numaNode?: number;
  /** Quantities of memory and of hugepages-<size>. Default: {}. */
  readonly limits?: Readonly<Record<string, string>>;
}

/** The use of swap by containers. */
export interface MemorySwapConfigurationV1beta1 {
  /** NoSwap (the same as empty), or LimitedSwap: in proportion to the memory request, on cgroup v2 only. Default: ''. */
  readonly swapBehavior?: SwapBehavior;
}

/** How long pods of a priority, or a higher one, get in a shutdown. */
export interface ShutdownGracePeriodByPodPriorityV1beta1 {
  /** The lowest priority that this entry is for. Default: 0. */
  readonly priority?: number;
  /** The grace period in seconds. Default: 0. */
  readonly shutdownGracePeriodSeconds?: number;
}

/** The verbosity of some source files. */
export interface VModuleItemV1beta1 {
  /** A file name without suffix, or a glob of such. Default: ''. */
  readonly filePattern?: string;
  /** Its verbosity. Default: 0. */
  readonly verbosity?: number;
}

/** Options of the format text. */
export interface TextLogOptionsV1beta1 {
  /** Whether errors go to stderr and the rest to stdout. Needs the feature gate LoggingAlphaOptions. Default: false. */
  readonly splitStream?: boolean;
  /** The buffer of the info stream. Needs the feature gate LoggingAlphaOptions. Default: 0. */
  readonly infoBufferSize?: string;
}

/** Options of the format json. */
export interface JsonLogOptionsV1beta1 {
  /** Whether errors go to stderr and the rest to stdout. Needs the feature gate LoggingAlphaOptions. Default: false. */
  readonly splitStream?: boolean;
  /** The buffer of the info stream. Needs the feature gate LoggingAlphaOptions. Default: 0. */
  readonly infoBufferSize?: string;
}

/** Options of each log format. */
export interface LogFormatOptionsV1beta1 {
  /** Options of the format text. */
  readonly text?: TextLogOptionsV1beta1;
  /** Options of the format json. */
  readonly json?: JsonLogOptionsV1beta1;
}

/** The kubelet's own log. */
export interface LoggingConfigurationV1beta1 {
  /** The form of log lines. Default: text. */
  readonly format?: LogFormat;
  /** How long a log line may wait in a buffer. A whole number is nanoseconds. Default: 5s. */
  readonly flushFrequency?: string | number;
  /** How much is logged; 0 is least, 4 is for debugging, 10 is everything. Default: 0. */
  readonly verbosity?: number;
  /** Verbosity by source file. Only with format text. Default: []. */
  readonly vmodule?: readonly VModuleItemV1beta1[];
  /** Options of each log format. */
  readonly options?: LogFormatOptionsV1beta1;
}

/** Traces, sent by OTLP over gRPC. */
export interface TracingConfigurationV1beta1 {
  /** The collector, as a gRPC name. Upstream uses localhost:4317 where unset. */
  readonly endpoint?: string;
  /** How many of a million spans without a parent are sampled. Unset: none. */
  readonly samplingRatePerMillion?: number;
}

/** KubeletConfiguration v1beta1 as a file or /configz has it: k8s.io/kubelet/config/v1beta1, 1.36. */
export interface KubeletConfigurationV1beta1 {
  readonly apiVersion?: 'kubelet.config.k8s.io/v1beta1';
  readonly kind?: 'KubeletConfiguration';
  /** A manifest of a static pod, or a directory of them. Empty: no static pods from files. Default: ''. */
  readonly staticPodPath?: string;
  /** How often the manifests of staticPodPath are read again, besides when they change. Default: 20s. */
  readonly fileCheckFrequency?: string;
  /** A URL that serves manifests of static pods. Empty: no static pods from HTTP. Default: ''. */
  readonly staticPodURL?: string;
  /** HTTP headers sent with each request for staticPodURL. Their values appear in no error and no log. Default: {}. */
  readonly staticPodURLHeader?: Readonly<Record<string, readonly string[]>>;
  /** How often staticPodURL is asked. Default: 20s. */
  readonly httpCheckFrequency?: string;
  /** The longest time between two syncs of a pod in which nothing happened. Default: 1m0s. */
  readonly syncFrequency?: string;
  /** How many pods this node runs at most. Default: 110. */
  readonly maxPods?: number;
  /** How many pods this node runs at most for each core; never more than maxPods. 0: no such limit. Default: 0. */
  readonly podsPerCore?: number;
  /** How many processes a pod may have. -1: as many as the node allows. Without effect where cgroupsPerQOS is false. Default: -1. */
  readonly podPidsLimit?: number;
  /** Formerly: start the static pods, then exit. True is refused, as upstream refuses it. Default: false. */
  readonly runOnce?: boolean;
  /** How long a container that keeps failing waits for its next start. */
  readonly crashLoopBackOff?: CrashLoopBackOffConfigurationV1beta1;
  /** Whether the kubelet registers its node with the API server. Without --kubeconfig there is nothing to register with, and both values mean the same. Default: true. */
  readonly registerNode?: boolean;
  /** Whether a container that names no seccomp profile runs with RuntimeDefault rather than Unconfined. Default: false. */
  readonly seccompDefault?: boolean;
  /** Sysctls, or patterns of them that end in `*`, that pods may set although they are not safe. Default: []. */
  readonly allowedUnsafeSysctls?: readonly string[];
  /** User namespaces of pods. */
  readonly userNamespaces?: UserNamespacesConfigurationV1beta1;
  /** The socket of the container runtime's CRI server. Default: unix:///run/containerd/containerd.sock. */
  readonly containerRuntimeEndpoint?: string;
  /** The socket of the CRI image service. Empty: containerRuntimeEndpoint. Default: ''. */
  readonly imageServiceEndpoint?: string;
  /** The deadline of a request to the runtime; pulls, logs, exec and attach have none or one of their own. Default: 2m0s. */
  readonly runtimeRequestTimeout?: string;
  /** Whether CPU limits become CFS quotas. Default: true. */
  readonly cpuCFSQuota?: boolean;
  /** The period of CFS quotas: 1ms to 1s. A value other than 100ms needs the feature gate CustomCPUCFSQuotaPeriod. Default: 100ms. */
  readonly cpuCFSQuotaPeriod?: string;
  /** The root of pods' log directories: absolute, normalised, ASCII. Default: /var/log/pods. */
  readonly podLogsDir?: string;
  /** The size at which a container log is rotated. Negative: logs are not rotated. Default: 10Mi. */
  readonly containerLogMaxSize?: string;
  /** How many log files a container keeps, the one written to included: 2 or more. Default: 5. */
  readonly containerLogMaxFiles?: number;
  /** How many logs are rotated at a time. Default: 1. */
  readonly containerLogMaxWorkers?: number;
  /** How often container logs are measured: 3s or longer. Default: 10s. */
  readonly containerLogMonitorInterval?: string;
  /** How many pulls start per second in the long run. 0: no limit. Default: 5. */
  readonly registryPullQPS?: number;
  /** How many pulls may start at once above registryPullQPS. Default: 10. */
  readonly registryBurst?: number;
  /** Whether images are pulled one at a time. Default true, or false where maxParallelImagePulls is 2 or more. Default: true. */
  readonly serializeImagePulls?: boolean;
  /** How many images are pulled at a time; above 1 only where serializeImagePulls is false. Unset: no limit. */
  readonly maxParallelImagePulls?: number;
  /** For which images that are on the node already a pod has to show that it may pull them. Default NeverVerifyPreloadedImages where the feature gate KubeletEnsureSecretPulledImages is on; not allowed where it is off. */
  readonly imagePullCredentialsVerificationPolicy?: ImagePullCredentialsVerificationPolicy;
  /** Images without tag or digest, or prefixes that end in `/*`, that need no verification under NeverVerifyAllowlistedImages. Default: []. */
  readonly preloadedImagesVerificationAllowlist?: readonly string[];
  /** How long an image stays, from when it was first seen, before it may be removed for its space. Default: 2m0s. */
  readonly imageMinimumGCAge?: string;
  /** How long an image may stay unused; longer than imageMinimumGCAge. 0s: for ever. Default: 0s. */
  readonly imageMaximumGCAge?: string;
  /** The disk usage in percent that starts image collection; above imageGCLowThresholdPercent. 100: never, unless the disk is all but full and imageMaximumGCAge is set. Default: 85. */
  readonly imageGCHighThresholdPercent?: number;
  /** The disk usage in percent that image collection frees down to. Default: 80. */
  readonly imageGCLowThresholdPercent?: number;
  /** The cluster's DNS domain, searched before the host's. Default: ''. */
  readonly clusterDomain?: string;
  /** IP addresses of the cluster's DNS servers, given to pods with dnsPolicy ClusterFirst. Default: []. */
  readonly clusterDNS?: readonly string[];
  /** The resolver file that pods' DNS settings start from. Empty: pods get no DNS settings from the host. Default: /etc/resolv.conf. */
  readonly resolvConf?: string;
  /** The range of pod IP addresses of a kubelet that has no API server: the runtime is told. Empty: it is told none. Default: ''. */
  readonly podCIDR?: string;
  /** How a pod reaches itself through its service. Default: promiscuous-bridge. */
  readonly hairpinMode?: HairpinMode;
  /** Whether the kubelet creates the chain KUBE-IPTABLES-HINT, which tells others the flavour of iptables in use. Default: true. */
  readonly makeIPTablesUtilChains?: boolean;
  /** Formerly the bit of the packet mark for masquerading. Default: 14. */
  readonly iptablesMasqueradeBit?: number;
  /** Formerly the bit of the packet mark for dropping. Default: 15. */
  readonly iptablesDropBit?: number;
  /** The port of /healthz. 0: not served. Default: 10248. */
  readonly healthzPort?: number;
  /** The IP address of /healthz, or a host name that has one. Default: 127.0.0.1. */
  readonly healthzBindAddress?: string;
  /** The port of the server that asks nobody who they are and changes nothing. 0: not served, also where no --config is given (upstream then serves it on 10255). Default: 0. */
  readonly readOnlyPort?: number;
  /** Whether the secured server runs. Default: true. */
  readonly enableServer?: boolean;
  /** The IP address of the secured server. The read-only one is on the loopback. Default: 0.0.0.0. */
  readonly address?: string;
  /** The port of the secured server. Default: 10250. */
  readonly port?: number;
  /** Whether logs, exec, attach and port-forward are served. Default: true. */
  readonly enableDebuggingHandlers?: boolean;
  /** Whether contention is profiled, where enableDebuggingHandlers is true. Default: false. */
  readonly enableContentionProfiling?: boolean;
  /** Whether /debug/pprof is served. Default: true. */
  readonly enableProfilingHandler?: boolean;
  /** Whether /debug/flags/v is served. Default: true. */
  readonly enableDebugFlagsHandler?: boolean;
  /** Whether the host's logs are served at /logs. Default: true. */
  readonly enableSystemLogHandler?: boolean;
  /** Whether /logs answers queries. Needs enableSystemLogHandler. Default: false. */
  readonly enableSystemLogQuery?: boolean;
  /** The secured server's certificate and its chain, PEM. Empty: self-signed, in --cert-dir. Default: ''. */
  readonly tlsCertFile?: string;
  /** The private key of tlsCertFile, PEM. Default: ''. */
  readonly tlsPrivateKeyFile?: string;
  /** The cipher suites of TLS 1.2 that are offered, by their IANA names. Empty: the default ones. Default: []. */
  readonly tlsCipherSuites?: readonly string[];
  /** The key exchanges that are offered, by their TLS numbers. Empty: the default ones. Default: []. */
  readonly tlsCurvePreferences?: readonly number[];
  /** The oldest TLS version that is offered. Empty: VersionTLS12. Default: ''. */
  readonly tlsMinVersion?: TlsVersion;
  /** Whether the client certificate is renewed through the API server. Default: false. */
  readonly rotateCertificates?: boolean;
  /** Whether the serving certificate comes from the API server. Needs the feature gate RotateKubeletServerCertificate. Default: false. */
  readonly serverTLSBootstrap?: boolean;
  /** How requests to the secured server are told apart. */
  readonly authentication?: KubeletAuthenticationV1beta1;
  /** What requests to the secured server may do. */
  readonly authorization?: KubeletAuthorizationV1beta1;
  /** Taints that the node gets when it is registered. Default: []. */
  readonly registerWithTaints?: readonly TaintConfigurationV1beta1[];
  /** The machine's name in its provider's inventory. Default: ''. */
  readonly providerID?: string;
  /** How often the status of the node is looked at. Default: 10s. */
  readonly nodeStatusUpdateFrequency?: string;
  /** How often a status that did not change is sent. Default 5m, or nodeStatusUpdateFrequency where a file sets that. Default: 5m0s. */
  readonly nodeStatusReportFrequency?: string;
  /** How long the lease of the node holds, in seconds. Default: 40. */
  readonly nodeLeaseDurationSeconds?: number;
  /** How many images the status of the node lists. -1: all. Default: 50. */
  readonly nodeStatusMaxImages?: number;
  /** How many events are sent per second in the long run. 0: no limit. Default: 50. */
  readonly eventRecordQPS?: number;
  /** How many events may be sent at once above eventRecordQPS. Default: 100. */
  readonly eventBurst?: number;
  /** How many requests go to the API server per second in the long run; events and heartbeats apart. 0: 5. Default: 50. */
  readonly kubeAPIQPS?: number;
  /** How many requests may go to the API server at once above kubeAPIQPS. Default: 100. */
  readonly kubeAPIBurst?: number;
  /** The media type of requests to the API server. Default: application/vnd.kubernetes.protobuf. */
  readonly contentType?: string;
  /** How changes of config maps and secrets are noticed. Default: Watch. */
  readonly configMapAndSecretChangeDetectionStrategy?: ChangeDetectionStrategy;
  /** Whether pods live in cgroups of their own below one per QoS class (kubepods). false: the runtime chooses, and nothing is enforced for a pod as a whole. Default: true. */
  readonly cgroupsPerQOS?: boolean;
  /** How cgroups are made: cgroupfs or systemd. A runtime that reports its driver decides instead. Default: cgroupfs. */
  readonly cgroupDriver?: CgroupDriver;
  /** The cgroup that kubepods is made in; it has to be there. Empty: the root. Without effect where cgroupsPerQOS is false. Default: ''. */
  readonly cgroupRoot?: string;
  /** The cgroup that the kubelet moves itself to. Default: ''. */
  readonly kubeletCgroups?: string;
  /** The cgroup that processes outside any container are moved to. Needs cgroupRoot. Default: ''. */
  readonly systemCgroups?: string;
  /** Whether the kubelet refuses to start on a host with cgroup v1. Default: true. */
  readonly failCgroupV1?: boolean;
  /** Whether the OOM killer kills one process of a container instead of all. On cgroup v1 it cannot be false. */
  readonly singleProcessOOMKill?: boolean;
  /** The share of its memory limit at which a container is slowed down (memory.high). Used with the feature gate MemoryQoS. Default: 0.9. */
  readonly memoryThrottlingFactor?: number;
  /** Whether requested memory is protected from reclaim. TieredReservation needs the feature gate MemoryQoS. Default: None. */
  readonly memoryReservationPolicy?: MemoryReservationPolicy;
  /** The kubelet's own oom_score_adj: -1000 to 1000. Default: -999. */
  readonly oomScoreAdj?: number;
  /** What is kept back for the operating system: quantities of cpu, memory, ephemeral-storage and pid. Default: {}. */
  readonly systemReserved?: Readonly<Record<string, string>>;
  /** What is kept back for Kubernetes: quantities of cpu, memory, ephemeral-storage and pid. Default: {}. */
  readonly kubeReserved?: Readonly<Record<string, string>>;
  /** The cgroup that systemReserved is enforced on. Default: ''. */
  readonly systemReservedCgroup?: string;
  /** The cgroup that kubeReserved is enforced on. Default: ''. */
  readonly kubeReservedCgroup?: string;
  /** What is held to its share: pods, system-reserved or system-reserved-compressible, kube-reserved or kube-reserved-compressible; or none alone. Default: ["pods"]. */
  readonly enforceNodeAllocatable?: readonly string[];
  /** The percentage of requests of guaranteed pods that lower classes may not use; memory only. Needs the feature gate QOSReserved. Default: {}. */
  readonly qosReserved?: Readonly<Record<string, string>>;
  /** CPUs kept back for the system, as a list of numbers and ranges (0-1,6); instead of CPU in systemReserved and kubeReserved. Default: ''. */
  readonly reservedSystemCPUs?: string;
  /** Memory kept back on each NUMA node, for the memory manager. Default: []. */
  readonly reservedMemory?: readonly MemoryReservationV1beta1[];
  /** none, or static: whole CPUs for guaranteed containers that request them. Default: none. */
  readonly cpuManagerPolicy?: CpuManagerPolicy;
  /** Options of the CPU manager policy. Default: {}. */
  readonly cpuManagerPolicyOptions?: Readonly<Record<string, string>>;
  /** How often the CPU manager compares cpusets with its state. Default: 10s. */
  readonly cpuManagerReconcilePeriod?: string;
  /** None, or Static: memory of guaranteed pods from the fewest NUMA nodes. Default: None. */
  readonly memoryManagerPolicy?: MemoryManagerPolicy;
  /** Whether pods are admitted by how their CPUs, memory and devices fit on NUMA nodes. Default: none. */
  readonly topologyManagerPolicy?: TopologyManagerPolicy;
  /** Whether the topology policy looks at containers or at whole pods. Default: container. */
  readonly topologyManagerScope?: TopologyManagerScope;
  /** Options of the topology manager policy. Default: {}. */
  readonly topologyManagerPolicyOptions?: Readonly<Record<string, string>>;
  /** Thresholds by signal, as quantities or percentages, below which pods are evicted at once. Default with --config: memory.available 100Mi, nodefs.available 10%, nodefs.inodesFree 5%, imagefs.available 15%, imagefs.inodesFree 5%; without: none. Default: {}. */
  readonly evictionHard?: Readonly<Record<string, string>>;
  /** Thresholds by signal below which pods are evicted after a grace period. Default: {}. */
  readonly evictionSoft?: Readonly<Record<string, string>>;
  /** How long each soft threshold has to hold. Default: {}. */
  readonly evictionSoftGracePeriod?: Readonly<Record<string, string>>;
  /** How much more than the threshold an eviction frees, by signal. Default: {}. */
  readonly evictionMinimumReclaim?: Readonly<Record<string, string>>;
  /** How long a pressure condition outlasts the pressure. Default: 5m0s. */
  readonly evictionPressureTransitionPeriod?: string;
  /** The longest grace period in seconds of a pod in a soft eviction. Negative: the pod's own. Default: 0. */
  readonly evictionMaxPodGracePeriod?: number;
  /** Whether signals that evictionHard of the --config file does not name keep their default threshold. Default: false. */
  readonly mergeDefaultEvictionSettings?: boolean;
  /** Whether the kernel tells when a memory threshold is crossed, instead of being asked. Default: false. */
  readonly kernelMemcgNotification?: boolean;
  /** Whether the kubelet refuses to start on a host with swap. Default: true. */
  readonly failSwapOn?: boolean;
  /** The use of swap by containers. */
  readonly memorySwap?: MemorySwapConfigurationV1beta1;
  /** Whether limits of ephemeral storage and sizes of emptyDir volumes are enforced. Default: true. */
  readonly localStorageCapacityIsolation?: boolean;
  /** How long the shutdown of the node waits for pods: 0s, or 1s and more. Default: 0s. */
  readonly shutdownGracePeriod?: string;
  /** The part of shutdownGracePeriod that is left to critical pods: 0s, or 1s and more. Default: 0s. */
  readonly shutdownGracePeriodCriticalPods?: string;
  /** Shutdown grace periods by priority; instead of shutdownGracePeriod. Needs the feature gate GracefulNodeShutdownBasedOnPodPriority. Default: []. */
  readonly shutdownGracePeriodByPodPriority?: readonly ShutdownGracePeriodByPodPriorityV1beta1[];
  /** Whether kernel settings that differ from what the kubelet expects stop it, instead of being changed. Default: false. */
  readonly protectKernelDefaults?: boolean;
  /** How many files the kubelet may have open. Default: 1000000. */
  readonly maxOpenFiles?: number;
  /** Where flex volume plugins are. Default: /usr/libexec/kubernetes/kubelet-plugins/volume/exec/. */
  readonly volumePluginDir?: string;
  /** How often volumes are measured. Negative: never. Default: 1m0s. */
  readonly volumeStatsAggPeriod?: string;
  /** Whether a controller attaches volumes to this node, rather than the kubelet. Default: true. */
  readonly enableControllerAttachDetach?: boolean;
  /** How long both ends of a stream (exec, attach, port-forward) may be silent. Default: 4h0m0s. */
  readonly streamingConnectionIdleTimeout?: string;
  /** The kubelet's own log. */
  readonly logging?: LoggingConfigurationV1beta1;
  /** Traces, sent by OTLP over gRPC. */
  readonly tracing?: TracingConfigurationV1beta1;
  /** The previous minor version, to see metrics that this version hides; no other value is allowed. Default: ''. */
  readonly showHiddenMetricsForVersion?: string;
  /** Feature gates by name. What drop-ins and flags set is added to what the file sets. Default: {}. */
  readonly featureGates?: Readonly<Record<string, boolean>>;
}

/** The flags of the command line that are not fields of the configuration. */
export interface KubeletFlags {
  /** The configuration file. Relative to the working directory. Flags override what it sets. Default: ''. */
  readonly config: string;
  /** A directory of drop-in files that override the configuration file. Files that end in .conf are read, in lexical order, subdirectories included. Default: ''. */
  readonly configDir: string;
  /** Whether unknown fields, duplicate keys, documents after the first and invalid clusterDNS entries stop the kubelet. They are warnings otherwise. Default: false. */
  readonly strictConfig: boolean;
  /** How to reach the API server. Without it the kubelet runs alone. Default: ''. */
  readonly kubeconfig: string;
  /** How to reach the API server for a first client certificate, where the file of --kubeconfig does not exist. Default: ''. */
  readonly bootstrapKubeconfig: string;
  /** The node's name. Empty: the host's. Default: ''. */
  readonly hostnameOverride: string;
  /** The node's IP address, or two of them with a comma, one of each family. Empty: the default IPv4 address, else the default IPv6 one. Default: ''. */
  readonly nodeIp: string;
  /** Where the TLS certificates are, whatever --root-dir is. A directory with certificates of another node is refused. Default: /var/lib/kubelet/pki. */
  readonly certDir: string;
  /** external where a cloud controller manager completes the node; else empty. Default: ''. */
  readonly cloudProvider: string;
  /** Where the kubelet keeps its files: pods' directories, volumes, plugins. Locked: a second kubelet on it is refused. Default: /var/lib/kubelet. */
  readonly rootDir: string;
  /** Labels of the node at its registration: key=value, with commas between. In the namespaces kubernetes.io and k8s.io only those for kubelets. Default: ''. */
  readonly nodeLabels: Readonly<Record<string, string>>;
  /** A file that only one kubelet at a time may lock. Default: ''. */
  readonly lockFile: string;
  /** Whether the kubelet exits when another one opens the lock file. Needs --lock-file. Default: false. */
  readonly exitOnLockContention: boolean;
  /** The runtime's cgroup, for its figures. Default: ''. */
  readonly runtimeCgroups: string;
  /** The configuration of credential provider plugins: a file, or a directory of them. Default: ''. */
  readonly imageCredentialProviderConfig: string;
  /** Where credential provider plugins are. Default: ''. */
  readonly imageCredentialProviderBinDir: string;
  /** How long a dead container is kept at least. Default: 0s. */
  readonly minimumContainerTtlMs: number;
  /** How many dead instances of a container are kept. Default: 1. */
  readonly maximumDeadContainersPerContainer: number;
  /** How many dead containers are kept in all. Negative: no limit. Default: -1. */
  readonly maximumDeadContainers: number;
  /** A program that mounts volumes. Empty: the one of the host. Default: ''. */
  readonly experimentalMounterPath: string;
  /** Whether hard eviction thresholds are left out of allocatable resources. Default: false. */
  readonly experimentalAllocatableIgnoreEviction: boolean;
  /** Prints the version and exits; raw prints more of it; vX.Y.Z is refused. Default: false. */
  readonly version: 'false' | 'true' | 'raw';
  /** Prints the flags and exits. Default: false. */
  readonly help: boolean;
  /** With --help: prints the deprecated flags too. Default: false. */
  readonly all: boolean;
}
