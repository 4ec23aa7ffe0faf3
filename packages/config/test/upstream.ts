import type { Json } from '../src/schema/field.ts';

/** Configuration that upstream 1.36 derives from an empty file: every field with a default, in wire format. */
export const upstreamDefaults: Readonly<Record<string, Json>> = {
  enableServer: true,
  podLogsDir: '/var/log/pods',
  syncFrequency: '1m0s',
  fileCheckFrequency: '20s',
  httpCheckFrequency: '20s',
  address: '0.0.0.0',
  port: 10250,
  authentication: {
    x509: {},
    webhook: {
      enabled: true,
      cacheTTL: '2m0s',
    },
    anonymous: {
      enabled: false,
    },
  },
  authorization: {
    mode: 'Webhook',
    webhook: {
      cacheAuthorizedTTL: '5m0s',
      cacheUnauthorizedTTL: '30s',
    },
  },
  registryPullQPS: 5,
  registryBurst: 10,
  imagePullCredentialsVerificationPolicy: 'NeverVerifyPreloadedImages',
  eventRecordQPS: 50,
  eventBurst: 100,
  enableDebuggingHandlers: true,
  healthzPort: 10248,
  healthzBindAddress: '127.0.0.1',
  oomScoreAdj: -999,
  streamingConnectionIdleTimeout: '4h0m0s',
  nodeStatusUpdateFrequency: '10s',
  nodeStatusReportFrequency: '5m0s',
  nodeLeaseDurationSeconds: 40,
  imageMinimumGCAge: '2m0s',
  imageMaximumGCAge: '0s',
  imageGCHighThresholdPercent: 85,
  imageGCLowThresholdPercent: 80,
  volumeStatsAggPeriod: '1m0s',
  cgroupsPerQOS: true,
  cgroupDriver: 'cgroupfs',
  cpuManagerPolicy: 'none',
  cpuManagerReconcilePeriod: '10s',
  memoryManagerPolicy: 'None',
  topologyManagerPolicy: 'none',
  topologyManagerScope: 'container',
  runtimeRequestTimeout: '2m0s',
  hairpinMode: 'promiscuous-bridge',
  maxPods: 110,
  podPidsLimit: -1,
  resolvConf: '/etc/resolv.conf',
  cpuCFSQuota: true,
  cpuCFSQuotaPeriod: '100ms',
  nodeStatusMaxImages: 50,
  maxOpenFiles: 1000000,
  contentType: 'application/vnd.kubernetes.protobuf',
  kubeAPIQPS: 50,
  kubeAPIBurst: 100,
  serializeImagePulls: true,
  evictionPressureTransitionPeriod: '5m0s',
  mergeDefaultEvictionSettings: false,
  enableControllerAttachDetach: true,
  makeIPTablesUtilChains: true,
  iptablesMasqueradeBit: 14,
  iptablesDropBit: 15,
  failSwapOn: true,
  memorySwap: {},
  containerLogMaxSize: '10Mi',
  containerLogMaxFiles: 5,
  containerLogMaxWorkers: 1,
  containerLogMonitorInterval: '10s',
  configMapAndSecretChangeDetectionStrategy: 'Watch',
  enforceNodeAllocatable: ['pods'],
  volumePluginDir: '/usr/libexec/kubernetes/kubelet-plugins/volume/exec/',
  logging: {
    format: 'text',
    flushFrequency: '5s',
    verbosity: 0,
    options: {
      text: {
        infoBufferSize: '0',
      },
      json: {
        infoBufferSize: '0',
      },
    },
  },
  enableSystemLogHandler: true,
  shutdownGracePeriod: '0s',
  shutdownGracePeriodCriticalPods: '0s',
  crashLoopBackOff: {
    maxContainerRestartPeriod: '5m0s',
  },
  enableProfilingHandler: true,
  enableDebugFlagsHandler: true,
  seccompDefault: false,
  memoryThrottlingFactor: 0.9,
  memoryReservationPolicy: 'None',
  registerNode: true,
  localStorageCapacityIsolation: true,
  containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
  failCgroupV1: true,
};

/** Every field of KubeletConfiguration v1beta1 in 1.36. */
export const upstreamFields: readonly string[] = `
address
allowedUnsafeSysctls
authentication
authorization
cgroupDriver
cgroupRoot
cgroupsPerQOS
clusterDNS
clusterDomain
configMapAndSecretChangeDetectionStrategy
containerLogMaxFiles
containerLogMaxSize
containerLogMaxWorkers
containerLogMonitorInterval
containerRuntimeEndpoint
contentType
cpuCFSQuota
cpuCFSQuotaPeriod
cpuManagerPolicy
cpuManagerPolicyOptions
cpuManagerReconcilePeriod
crashLoopBackOff
enableContentionProfiling
enableControllerAttachDetach
enableDebugFlagsHandler
enableDebuggingHandlers
enableProfilingHandler
enableServer
enableSystemLogHandler
enableSystemLogQuery
enforceNodeAllocatable
eventBurst
eventRecordQPS
evictionHard
evictionMaxPodGracePeriod
evictionMinimumReclaim
evictionPressureTransitionPeriod
evictionSoft
evictionSoftGracePeriod
failCgroupV1
failSwapOn
featureGates
fileCheckFrequency
hairpinMode
healthzBindAddress
healthzPort
httpCheckFrequency
imageGCHighThresholdPercent
imageGCLowThresholdPercent
imageMaximumGCAge
imageMinimumGCAge
imagePullCredentialsVerificationPolicy
imageServiceEndpoint
iptablesDropBit
iptablesMasqueradeBit
kernelMemcgNotification
kubeAPIBurst
kubeAPIQPS
kubeReserved
kubeReservedCgroup
kubeletCgroups
localStorageCapacityIsolation
logging
makeIPTablesUtilChains
maxOpenFiles
maxParallelImagePulls
maxPods
memoryManagerPolicy
memoryReservationPolicy
memorySwap
memoryThrottlingFactor
mergeDefaultEvictionSettings
nodeLeaseDurationSeconds
nodeStatusMaxImages
nodeStatusReportFrequency
nodeStatusUpdateFrequency
oomScoreAdj
podCIDR
podLogsDir
podPidsLimit
podsPerCore
port
preloadedImagesVerificationAllowlist
protectKernelDefaults
providerID
qosReserved
readOnlyPort
registerNode
registerWithTaints
registryBurst
registryPullQPS
reservedMemory
reservedSystemCPUs
resolvConf
rotateCertificates
runOnce
runtimeRequestTimeout
seccompDefault
serializeImagePulls
serverTLSBootstrap
showHiddenMetricsForVersion
shutdownGracePeriod
shutdownGracePeriodByPodPriority
shutdownGracePeriodCriticalPods
singleProcessOOMKill
staticPodPath
staticPodURL
staticPodURLHeader
streamingConnectionIdleTimeout
syncFrequency
systemCgroups
systemReserved
systemReservedCgroup
tlsCertFile
tlsCipherSuites
tlsCurvePreferences
tlsMinVersion
tlsPrivateKeyFile
topologyManagerPolicy
topologyManagerPolicyOptions
topologyManagerScope
tracing
userNamespaces
volumePluginDir
volumeStatsAggPeriod
`
  .trim()
  .split('\n');

/** Every flag of the kubelet in 1.36 with the default that its help shows. `*` marks a deprecated flag. */
export const upstreamFlags: readonly string[] = `
*address 0.0.0.0
*allowed-unsafe-sysctls []
*anonymous-auth true
*application-metrics-count-limit 100
*authentication-token-webhook false
*authentication-token-webhook-cache-ttl 2m0s
*authorization-mode AlwaysAllow
*authorization-webhook-cache-authorized-ttl 5m0s
*authorization-webhook-cache-unauthorized-ttl 30s
*boot-id-file /proc/sys/kernel/random/boot_id
bootstrap-kubeconfig
cert-dir /var/lib/kubelet/pki
*cgroup-driver cgroupfs
*cgroup-root
*cgroups-per-qos true
*client-ca-file
cloud-provider
*cluster-dns []
*cluster-domain
config
config-dir
*container-hints /etc/cadvisor/container_hints.json
*container-log-max-files 5
*container-log-max-size 10Mi
*container-runtime-endpoint unix:///run/containerd/containerd.sock
*containerd /run/containerd/containerd.sock
*containerd-namespace k8s.io
*contention-profiling false
*cpu-cfs-quota true
*cpu-cfs-quota-period 100ms
*cpu-manager-policy none
*cpu-manager-policy-options
*cpu-manager-reconcile-period 10s
*enable-controller-attach-detach true
*enable-debugging-handlers true
*enable-load-reader false
*enable-server true
*enforce-node-allocatable [pods]
*event-burst 100
*event-qps 50
*event-storage-age-limit default=0
*event-storage-event-limit default=0
*eviction-hard
*eviction-max-pod-grace-period 0
*eviction-minimum-reclaim
*eviction-pressure-transition-period 5m0s
*eviction-soft
*eviction-soft-grace-period
exit-on-lock-contention false
*experimental-allocatable-ignore-eviction false
*experimental-mounter-path
fail-cgroupv1 true
*fail-swap-on true
*feature-gates
*file-check-frequency 20s
*global-housekeeping-interval 1m0s
*hairpin-mode promiscuous-bridge
*healthz-bind-address 127.0.0.1
*healthz-port 10248
help false
hostname-override
housekeeping-interval 10s
*http-check-frequency 20s
image-credential-provider-bin-dir
image-credential-provider-config
*image-gc-high-threshold 85
*image-gc-low-threshold 80
*image-service-endpoint
*kernel-memcg-notification false
*kube-api-burst 100
*kube-api-content-type application/vnd.kubernetes.protobuf
*kube-api-qps 50
*kube-reserved
*kube-reserved-cgroup
kubeconfig
*kubelet-cgroups
*local-storage-capacity-isolation true
lock-file
*log-cadvisor-usage false
log-flush-frequency 5s
*log-json-info-buffer-size 0
*log-json-split-stream false
*log-text-info-buffer-size 0
*log-text-split-stream false
*logging-format text
*machine-id-file /etc/machine-id,/var/lib/dbus/machine-id
*make-iptables-util-chains true
*manifest-url
*manifest-url-header
*max-open-files 1000000
*max-pods 110
*maximum-dead-containers -1
*maximum-dead-containers-per-container 1
*memory-manager-policy None
*minimum-container-ttl-duration 0s
*minimum-image-ttl-duration 2m0s
node-ip
node-labels
*node-status-max-images 50
*node-status-update-frequency 10s
*oom-score-adj -999
*pod-cidr
*pod-manifest-path
*pod-max-pids -1
*pods-per-core 0
*port 10250
*protect-kernel-defaults false
provider-id
*qos-reserved
*read-only-port 10255
*register-node true
*register-with-taints
*registry-burst 10
*registry-qps 5
*reserved-cpus
*reserved-memory
*resolv-conf /etc/resolv.conf
root-dir /var/lib/kubelet
*rotate-certificates false
*rotate-server-certificates false
*runonce false
runtime-cgroups
*runtime-request-timeout 2m0s
seccomp-default false
*serialize-image-pulls true
*storage-driver-buffer-duration 1m0s
*storage-driver-db cadvisor
*storage-driver-host localhost:8086
*storage-driver-password root
*storage-driver-secure false
*storage-driver-table stats
*storage-driver-user root
*streaming-connection-idle-timeout 4h0m0s
*sync-frequency 1m0s
*system-cgroups
*system-reserved
*system-reserved-cgroup
*tls-cert-file
*tls-cipher-suites []
*tls-min-version
*tls-private-key-file
*topology-manager-policy none
*topology-manager-policy-options
*topology-manager-scope container
v 0
version false
vmodule
*volume-plugin-dir /usr/libexec/kubernetes/kubelet-plugins/volume/exec/
*volume-stats-agg-period 1m0s
`
  .trim()
  .split('\n');
