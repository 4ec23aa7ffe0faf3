import { describe, expect, it } from 'vitest';
import { defaultConfiguration, type KubeletConfiguration, resolveFeatureGates } from '../src/index.ts';
import { validateConfiguration } from '../src/validate/validate.ts';
import { file, load, refusal } from './memory-files.ts';

/** A line of a file, the path of the rejected field, and the error message. */
type Case = readonly [line: string, path: string, message: string];

const NO_SHUTDOWN =
  'featureGates: {GracefulNodeShutdown: false, GracefulNodeShutdownBasedOnPodPriority: false, WindowsGracefulNodeShutdown: false}';

/** The cipher suites of crypto/tls in Go 1.26, and two former names (k8s.io/component-base/cli/flag). */
const CIPHER_SUITES = [
  ...['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'],
  ...['ECDSA', 'RSA'].flatMap((kind) => [
    ...['AES_128_CBC_SHA', 'AES_128_CBC_SHA256', 'AES_128_GCM_SHA256', 'AES_256_CBC_SHA', 'AES_256_GCM_SHA384'].map(
      (rest) => `TLS_ECDHE_${kind}_WITH_${rest}`,
    ),
    ...['CHACHA20_POLY1305', 'CHACHA20_POLY1305_SHA256', 'RC4_128_SHA'].map((rest) => `TLS_ECDHE_${kind}_WITH_${rest}`),
  ]),
  'TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA',
  ...['3DES_EDE_CBC_SHA', 'AES_128_CBC_SHA', 'AES_128_CBC_SHA256', 'AES_128_GCM_SHA256', 'AES_256_CBC_SHA'].map(
    (rest) => `TLS_RSA_WITH_${rest}`,
  ),
  ...['TLS_RSA_WITH_AES_256_GCM_SHA384', 'TLS_RSA_WITH_RC4_128_SHA'],
];

const single: readonly Case[] = [
  ['nodeLeaseDurationSeconds: -1', 'nodeLeaseDurationSeconds', '-1 must be greater than 0'],
  ['eventBurst: -1', 'eventBurst', '-1 must not be a negative number'],
  ['eventRecordQPS: -1', 'eventRecordQPS', 'must not be a negative number'],
  ['healthzPort: 65536', 'healthzPort', '65536 must be between 1 and 65535, or 0 to turn it off'],
  ['healthzPort: -1', 'healthzPort', 'must be between 1 and 65535'],
  ['imageGCHighThresholdPercent: 101', 'imageGCHighThresholdPercent', 'must be between 0 and 100, inclusive'],
  ['imageGCLowThresholdPercent: -1', 'imageGCLowThresholdPercent', 'must be between 0 and 100, inclusive'],
  ['imageGCLowThresholdPercent: 101', 'imageGCLowThresholdPercent', '101 must be between 0 and 100, inclusive'],
  ['imageMinimumGCAge: -1m', 'imageMinimumGCAge', '-1m0s must not be negative'],
  ['imageMaximumGCAge: -1m', 'imageMaximumGCAge', '-1m0s must not be negative'],
  ['iptablesDropBit: 32', 'iptablesDropBit', 'must be between 0 and 31, inclusive'],
  ['iptablesMasqueradeBit: -1', 'iptablesMasqueradeBit', 'must be between 0 and 31, inclusive'],
  ['kubeAPIBurst: -1', 'kubeAPIBurst', 'must not be a negative number'],
  ['kubeAPIQPS: -1', 'kubeAPIQPS', 'must not be a negative number'],
  ['nodeStatusMaxImages: -2', 'nodeStatusMaxImages', '-2 must be -1 or greater'],
  ['maxOpenFiles: -1', 'maxOpenFiles', 'must not be a negative number'],
  ['maxPods: -1', 'maxPods', 'must not be a negative number'],
  ['oomScoreAdj: -1001', 'oomScoreAdj', 'must be between -1000 and 1000, inclusive'],
  ['oomScoreAdj: 1001', 'oomScoreAdj', 'must be between -1000 and 1000, inclusive'],
  ['podsPerCore: -1', 'podsPerCore', 'must not be a negative number'],
  ['port: 65536', 'port', '65536 must be between 1 and 65535, inclusive'],
  ['port: -1', 'port', 'must be between 1 and 65535, inclusive'],
  ['readOnlyPort: 65536', 'readOnlyPort', 'must be between 1 and 65535, or 0 to turn it off'],
  ['registryBurst: -1', 'registryBurst', 'must not be a negative number'],
  ['registryPullQPS: -1', 'registryPullQPS', 'must not be a negative number'],
  ['maxParallelImagePulls: 0', 'maxParallelImagePulls', '0 must be 1 or greater'],
  ['runOnce: true', 'runOnce', 'must be false: the run-once mode is deprecated'],
  ['memoryThrottlingFactor: 0.0', 'memoryThrottlingFactor', '0 must be greater than 0 and less than or equal to 1.0'],
  ['memoryThrottlingFactor: 1.1', 'memoryThrottlingFactor', '1.1 must be greater than 0'],
  ['containerLogMaxWorkers: 0', 'containerLogMaxWorkers', '0 must be 1 or greater'],
  ['containerLogMonitorInterval: 2s', 'containerLogMonitorInterval', '2s must be 3s or longer'],
  ['containerLogMaxFiles: 1', 'containerLogMaxFiles', '1 must be 2 or greater'],
  ['logging: {flushFrequency: -1s}', 'logging.flushFrequency', '-1s must be greater than zero'],
  ['logging: {verbosity: 2147483648}', 'logging.verbosity', 'must be 2147483647 or less'],
  [
    'tracing: {samplingRatePerMillion: -1}',
    'tracing.samplingRatePerMillion',
    'must be between 0 and 1000000, inclusive',
  ],
  ['tracing: {samplingRatePerMillion: 1000001}', 'tracing.samplingRatePerMillion', 'must be between 0 and 1000000'],
];

const pods: readonly Case[] = [
  [
    'cpuCFSQuotaPeriod: 200ms\nfeatureGates: {CustomCPUCFSQuotaPeriod: false}',
    'cpuCFSQuotaPeriod',
    'must be 100ms unless the feature gate CustomCPUCFSQuotaPeriod is enabled',
  ],
  [
    'cpuCFSQuotaPeriod: 1ns\nfeatureGates: {CustomCPUCFSQuotaPeriod: true}',
    'cpuCFSQuotaPeriod',
    'must be between 1ms and 1s, inclusive',
  ],
  [
    'cpuCFSQuotaPeriod: 1001ms\nfeatureGates: {CustomCPUCFSQuotaPeriod: true}',
    'cpuCFSQuotaPeriod',
    'must be between 1ms and 1s, inclusive',
  ],
  [
    'crashLoopBackOff: {maxContainerRestartPeriod: 999ms}',
    'crashLoopBackOff.maxContainerRestartPeriod',
    'must be between 1s and 300s',
  ],
  [
    'crashLoopBackOff: {maxContainerRestartPeriod: 300001ms}',
    'crashLoopBackOff.maxContainerRestartPeriod',
    'must be between 1s and 300s',
  ],
  [
    'crashLoopBackOff: {maxContainerRestartPeriod: 10s}\nfeatureGates: {KubeletCrashLoopBackOffMax: false}',
    'crashLoopBackOff.maxContainerRestartPeriod',
    'the feature gate KubeletCrashLoopBackOffMax is off',
  ],
  ['podLogsDir: /var/log//pods', 'podLogsDir', 'must be normalized: /var/log/pods'],
  ['podLogsDir: /var/log/../pods', 'podLogsDir', 'must be normalized: /var/pods'],
  ['podLogsDir: /var/log/pods/', 'podLogsDir', 'must be normalized: /var/log/pods'],
  ['podLogsDir: /var/log/pöds', 'podLogsDir', 'must contain ASCII characters only'],
  ['userNamespaces: {idsPerPod: 65535}', 'userNamespaces.idsPerPod', 'must not be less than 65536'],
  ['userNamespaces: {idsPerPod: 65537}', 'userNamespaces.idsPerPod', 'must be a multiple of 65536'],
  ['userNamespaces: {idsPerPod: 4294967296}', 'userNamespaces.idsPerPod', 'must not be more than 4294967295'],
  ['address: here', 'address', 'must be an IP address'],
  ['healthzBindAddress: 1.2.3', 'healthzBindAddress', 'must be an IP address or a host name'],
  ['allowedUnsafeSysctls: [kernel.pid_max]', 'allowedUnsafeSysctls[0]', 'must be a namespaced sysctl'],
  ['allowedUnsafeSysctls: [net.a, "*"]', 'allowedUnsafeSysctls[1]', 'must be a namespaced sysctl'],
  ['allowedUnsafeSysctls: ["net.*.x"]', 'allowedUnsafeSysctls[0]', 'must be the name of a sysctl, or the start'],
  ['allowedUnsafeSysctls: ["net a"]', 'allowedUnsafeSysctls[0]', 'must be the name of a sysctl, or the start'],
  ['healthzBindAddress: a b', 'healthzBindAddress', 'must be an IP address or a host name'],
  ['syncFrequency: -10s', 'syncFrequency', '-10s must be longer than 0s'],
  ['fileCheckFrequency: -1ms', 'fileCheckFrequency', 'must be longer than 0s'],
  ['httpCheckFrequency: -1s', 'httpCheckFrequency', 'must be longer than 0s'],
  ['runtimeRequestTimeout: -1s', 'runtimeRequestTimeout', 'must be longer than 0s'],
  ['nodeStatusUpdateFrequency: -5s', 'nodeStatusUpdateFrequency', 'must be longer than 0s'],
  ['tlsCertFile: /a', 'tlsCertFile', 'needs tlsPrivateKeyFile'],
  ['tlsPrivateKeyFile: /a', 'tlsPrivateKeyFile', 'needs tlsCertFile'],
  ['staticPodURL: ftp://x', 'staticPodURL', 'must be an http or https URL'],
  ['staticPodURLHeader: {A: [x, "b\\nc"]}', 'staticPodURLHeader.A[1]', 'must not contain control characters'],
  ['staticPodURLHeader: {"A B": [x]}', 'staticPodURLHeader["A B"]', 'must be the name of an HTTP header'],
  ['staticPodURL: there', 'staticPodURL', 'must be an http or https URL'],
  [
    `allowedUnsafeSysctls: [net.${'a'.repeat(250)}]`,
    'allowedUnsafeSysctls[0]',
    'must be the name of a sysctl, or the start',
  ],
];

const images: readonly Case[] = [
  [
    'imageMaximumGCAge: 1h\nfeatureGates: {ImageMaximumGCAge: false}',
    'featureGates.ImageMaximumGCAge',
    'locked to true',
  ],
  ['imageMaximumGCAge: 1ms', 'imageMaximumGCAge', 'must be greater than imageMinimumGCAge (2m0s)'],
  ['imageMaximumGCAge: 1m', 'imageMaximumGCAge', 'must be greater than imageMinimumGCAge (2m0s)'],
  ['imageMaximumGCAge: 2m', 'imageMaximumGCAge', 'must be greater than imageMinimumGCAge (2m0s)'],
  [
    'imageGCLowThresholdPercent: 85',
    'imageGCLowThresholdPercent',
    '(85) must be less than imageGCHighThresholdPercent (85)',
  ],
  [
    'imageGCHighThresholdPercent: 50',
    'imageGCLowThresholdPercent',
    '(80) must be less than imageGCHighThresholdPercent (50)',
  ],
  [
    'maxParallelImagePulls: 2\nserializeImagePulls: true',
    'maxParallelImagePulls',
    'cannot be larger than 1 unless serializeImagePulls is set to false',
  ],
  [
    'imagePullCredentialsVerificationPolicy: NeverVerify\nfeatureGates: {KubeletEnsureSecretPulledImages: false}',
    'imagePullCredentialsVerificationPolicy',
    'must not be set: the feature gate KubeletEnsureSecretPulledImages is off',
  ],
  [
    'preloadedImagesVerificationAllowlist: [a]\nfeatureGates: {KubeletEnsureSecretPulledImages: false}',
    'preloadedImagesVerificationAllowlist',
    'must not be set',
  ],
  [
    'preloadedImagesVerificationAllowlist: [a]',
    'preloadedImagesVerificationAllowlist',
    'needs imagePullCredentialsVerificationPolicy NeverVerifyAllowlistedImages',
  ],
  ...(
    [
      ['" a"', 'must not begin or end with a space'],
      ['""', 'must not be empty'],
      ['"*"', 'may have a wildcard only as /* at its end'],
      ['registry.io/a*b/*', 'may have a wildcard only as /* at its end'],
      ['/*', 'must begin with a registry'],
      ['registry.io/a:1', 'must have neither a tag nor a digest'],
      [`registry.io/a@sha256:${'0'.repeat(64)}`, 'must have neither a tag nor a digest'],
      ['"a "', 'must not begin or end with a space'],
      ['registry.io/A', 'must be the name of an image'],
    ] as const
  ).map(
    ([pattern, message]): Case => [
      `imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\npreloadedImagesVerificationAllowlist: [${pattern}]`,
      'preloadedImagesVerificationAllowlist[0]',
      message,
    ],
  ),
];

const resources: readonly Case[] = [
  ['systemCgroups: /system', 'systemCgroups', 'requires cgroupRoot'],
  ['memoryReservationPolicy: TieredReservation', 'memoryReservationPolicy', 'requires the feature gate MemoryQoS'],
  [
    'enforceNodeAllocatable: [system-reserved, system-reserved-compressible]',
    'enforceNodeAllocatable',
    'both "system-reserved" and "system-reserved-compressible" cannot be specified together',
  ],
  [
    'enforceNodeAllocatable: [kube-reserved, kube-reserved-compressible]',
    'enforceNodeAllocatable',
    'both "kube-reserved" and "kube-reserved-compressible" cannot be specified together',
  ],
  ['enforceNodeAllocatable: [pods, pods]', 'enforceNodeAllocatable[1]', 'duplicated enforcements "pods"'],
  [
    'enforceNodeAllocatable: [system-reserved]',
    'enforceNodeAllocatable[0]',
    'systemReservedCgroup (--system-reserved-cgroup) must be specified when',
  ],
  [
    'enforceNodeAllocatable: [kube-reserved-compressible]',
    'enforceNodeAllocatable[0]',
    'kubeReservedCgroup (--kube-reserved-cgroup) must be specified when',
  ],
  [
    'enforceNodeAllocatable: [system-reserved-compressible]',
    'enforceNodeAllocatable[0]',
    'systemReservedCgroup (--system-reserved-cgroup) must be specified when',
  ],
  [
    'enforceNodeAllocatable: [none, pods]',
    'enforceNodeAllocatable[0]',
    'may not contain additional enforcements when "none" is specified',
  ],
  [
    'enforceNodeAllocatable: [all]',
    'enforceNodeAllocatable[0]',
    'option "all" is not valid. Valid options are "pods", "system-reserved", "system-reserved-compressible", "kube-reserved", "kube-reserved-compressible", "none"',
  ],
  [
    'cgroupsPerQOS: false',
    'enforceNodeAllocatable[0]',
    'cgroupsPerQOS (--cgroups-per-qos) must be set to true when "pods" contained',
  ],
  [
    'systemReserved: {gpu: 1k}',
    'systemReserved.gpu',
    'cannot be reserved; only cpu, memory, ephemeral-storage, pid can',
  ],
  ['kubeReserved: {cpu: -100m}', 'kubeReserved.cpu', 'cannot be negative'],
  [
    'reservedSystemCPUs: 0-1\nkubeReservedCgroup: /k',
    'reservedSystemCPUs',
    'cannot be used with systemReservedCgroup or kubeReservedCgroup',
  ],
  [
    'reservedSystemCPUs: 0-1\nsystemReservedCgroup: /s',
    'reservedSystemCPUs',
    'cannot be used with systemReservedCgroup or kubeReservedCgroup',
  ],
  ['reservedSystemCPUs: 0,a', 'reservedSystemCPUs', 'must be a list of CPUs and ranges'],
  ['reservedSystemCPUs: 0-', 'reservedSystemCPUs', 'must be a list of CPUs and ranges'],
  ['reservedSystemCPUs: 3-1', 'reservedSystemCPUs', 'must be a list of CPUs and ranges'],
  ['reservedSystemCPUs: a', 'reservedSystemCPUs', 'must be a list of CPUs and ranges'],
  [
    'reservedMemory: [{numaNode: 0, limits: {cpu: "1"}}]',
    'reservedMemory[0].limits.cpu',
    'only memory and hugepages-<size> can be reserved',
  ],
  ['reservedMemory: [{numaNode: 0, limits: {memory: 0}}]', 'reservedMemory[0].limits.memory', 'must not be zero'],
  [
    'reservedMemory: [{numaNode: 0, limits: {memory: 1}}, {numaNode: 0, limits: {memory: 2}}]',
    'reservedMemory[1].limits.memory',
    'is reserved twice for NUMA node 0',
  ],
  ['qosReserved: {memory: 50%}', 'qosReserved', 'requires the feature gate QOSReserved'],
  [
    'qosReserved: {memory: 101%}\nfeatureGates: {QOSReserved: true}',
    'qosReserved.memory',
    'must be a percentage from 0% to 100%',
  ],
  [
    'qosReserved: {memory: half}\nfeatureGates: {QOSReserved: true}',
    'qosReserved.memory',
    'must be a percentage from 0% to 100%',
  ],
  ['qosReserved: {cpu: 10%}\nfeatureGates: {QOSReserved: true}', 'qosReserved.cpu', 'only memory can'],
  ['cpuManagerPolicy: dynamic', 'cpuManagerPolicy', 'must be one of "none", "static"'],
  ['memoryManagerPolicy: none', 'memoryManagerPolicy', 'must be one of "None", "Static"'],
  [
    'topologyManagerPolicy: best',
    'topologyManagerPolicy',
    'must be one of "none", "best-effort", "restricted", "single-numa-node"',
  ],
  ['topologyManagerScope: node', 'topologyManagerScope', 'must be one of "container", "pod"'],
  [
    'memorySwap: {swapBehavior: UnlimitedSwap}',
    'memorySwap.swapBehavior',
    'must be one of "", "NoSwap", "LimitedSwap"',
  ],
];

const eviction: readonly Case[] = [
  [
    'evictionHard: {memory.free: 1Gi}',
    'evictionHard["memory.free"]',
    'is not an eviction signal; the signals are memory.available, allocatableMemory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree, containerfs.available, containerfs.inodesFree, pid.available',
  ],
  [
    'evictionHard: {memory.available: lots}',
    'evictionHard["memory.available"]',
    'must be a quantity such as 100Mi, or a percentage',
  ],
  ['evictionHard: {memory.available: "0"}', 'evictionHard["memory.available"]', 'must be positive'],
  ['evictionHard: {memory.available: -1%}', 'evictionHard["memory.available"]', 'must be a percentage of 0 or more'],
  ['evictionHard: {memory.available: 1e%}', 'evictionHard["memory.available"]', 'must be a percentage of 0 or more'],
  ['evictionHard: {memory.available: 1e3%}', 'evictionHard["memory.available"]', 'must be 100% or less'],
  [
    'evictionMinimumReclaim: {memory.available: 1e39%}',
    'evictionMinimumReclaim["memory.available"]',
    'must be a percentage of 0 or more',
  ],
  ['evictionHard: {memory.available: half%}', 'evictionHard["memory.available"]', 'must be a percentage of 0 or more'],
  ['evictionHard: {memory.available: -1Gi}', 'evictionHard["memory.available"]', 'must be positive'],
  ['evictionSoft: {memory.available: 101%}', 'evictionSoft["memory.available"]', 'must be 100% or less'],
  [
    'evictionMinimumReclaim: {memory.available: half}',
    'evictionMinimumReclaim["memory.available"]',
    'must be a quantity such as 100Mi, or a percentage such as 10%',
  ],
  ['evictionSoft: {memory.free: 1Gi}', 'evictionSoft["memory.free"]', 'is not an eviction signal'],
  ['evictionMinimumReclaim: {memory.free: 1Gi}', 'evictionMinimumReclaim["memory.free"]', 'is not an eviction signal'],
  ['evictionHard: {memory.available: 101%}', 'evictionHard["memory.available"]', 'must be 100% or less'],
  [
    'evictionSoft: {memory.available: 1Gi}',
    'evictionSoft["memory.available"]',
    'requires a grace period in evictionSoftGracePeriod',
  ],
  [
    'evictionSoftGracePeriod: {memory.available: -1s}',
    'evictionSoftGracePeriod["memory.available"]',
    'must not be negative',
  ],
  ['evictionSoftGracePeriod: {mem: 1s}', 'evictionSoftGracePeriod.mem', 'is not an eviction signal'],
  [
    'evictionMinimumReclaim: {memory.available: 0%}',
    'evictionMinimumReclaim["memory.available"]',
    'must be more than 0%',
  ],
  [
    'evictionMinimumReclaim: {memory.available: -1Gi}',
    'evictionMinimumReclaim["memory.available"]',
    'must not be negative',
  ],
];

const node: readonly Case[] = [
  [
    'shutdownGracePeriod: 10s\nshutdownGracePeriodCriticalPods: 20s',
    'shutdownGracePeriodCriticalPods',
    'must not be longer than shutdownGracePeriod (10s)',
  ],
  ['shutdownGracePeriod: 500ms', 'shutdownGracePeriod', 'must be either zero or 1s and more'],
  ['shutdownGracePeriod: 1ms', 'shutdownGracePeriod', 'must be either zero or 1s and more'],
  ['shutdownGracePeriod: -1s', 'shutdownGracePeriod', 'must be either zero or 1s and more'],
  [
    'shutdownGracePeriod: 10s\nshutdownGracePeriodCriticalPods: 999ms',
    'shutdownGracePeriodCriticalPods',
    'must be either zero or 1s and more',
  ],
  [`shutdownGracePeriod: 1ms\n${NO_SHUTDOWN}`, 'shutdownGracePeriod', 'requires the feature gate GracefulNodeShutdown'],
  [
    `shutdownGracePeriodCriticalPods: 1ms\n${NO_SHUTDOWN}`,
    'shutdownGracePeriodCriticalPods',
    'requires the feature gate GracefulNodeShutdown',
  ],
  [
    'shutdownGracePeriod: 1ms\nshutdownGracePeriodByPodPriority: [{priority: 1, shutdownGracePeriodSeconds: 2}]',
    'shutdownGracePeriodByPodPriority',
    'cannot be specified at the same time as shutdownGracePeriod',
  ],
  [
    'shutdownGracePeriodCriticalPods: 1ms\nshutdownGracePeriodByPodPriority: [{priority: 1, shutdownGracePeriodSeconds: 2}]',
    'shutdownGracePeriodByPodPriority',
    'cannot be specified at the same time as shutdownGracePeriod',
  ],
  [
    'shutdownGracePeriod: 10s\nshutdownGracePeriodCriticalPods: -1s',
    'shutdownGracePeriodCriticalPods',
    'must be either zero or 1s and more',
  ],
  [`shutdownGracePeriod: 10s\n${NO_SHUTDOWN}`, 'shutdownGracePeriod', 'requires the feature gate GracefulNodeShutdown'],
  [
    `shutdownGracePeriodCriticalPods: 10s\n${NO_SHUTDOWN}`,
    'shutdownGracePeriodCriticalPods',
    'requires the feature gate GracefulNodeShutdown',
  ],
  [
    'shutdownGracePeriod: 10s\nshutdownGracePeriodByPodPriority: [{priority: 1, shutdownGracePeriodSeconds: 2}]',
    'shutdownGracePeriodByPodPriority',
    'cannot be specified at the same time',
  ],
  [
    'shutdownGracePeriodByPodPriority: [{priority: 1, shutdownGracePeriodSeconds: 2}]\nfeatureGates: {GracefulNodeShutdownBasedOnPodPriority: false}',
    'shutdownGracePeriodByPodPriority',
    'requires the feature gate',
  ],
  ['registerWithTaints: [{key: -a, effect: NoSchedule}]', 'registerWithTaints[0].key', 'must be 1 to 63 letters'],
  [
    'registerWithTaints: [{key: a, value: -b, effect: NoSchedule}]',
    'registerWithTaints[0].value',
    'must be empty, or at most 63 letters',
  ],
  [
    'registerWithTaints: [{key: a, effect: NoSchedule, timeAdded: now}]',
    'registerWithTaints[0].timeAdded',
    'must not be set',
  ],
  ['registerWithTaints: [{key: a, effect: Never}]', 'registerWithTaints[0].effect', 'must be one of "", "NoSchedule"'],
  ['tlsCipherSuites: [NONE]', 'tlsCipherSuites[0]', '"NONE" is not a known cipher suite'],
  ['tlsCurvePreferences: [0]', 'tlsCurvePreferences[0]', '0 is not a known key exchange'],
  [
    'tlsCurvePreferences: [9999]',
    'tlsCurvePreferences[0]',
    '9999 is not a known key exchange; the known ones are 23, 24, 25, 29, 4587, 4588, 4589',
  ],
  ['tlsCurvePreferences: [29, 29]', 'tlsCurvePreferences[1]', 'is there twice'],
  ['tlsMinVersion: TLS12', 'tlsMinVersion', 'must be one of "", "VersionTLS10"'],
  [
    'serverTLSBootstrap: true\nfeatureGates: {RotateKubeletServerCertificate: false}',
    'serverTLSBootstrap',
    'requires the feature gate RotateKubeletServerCertificate',
  ],
  ['enableSystemLogQuery: true\nfeatureGates: {NodeLogQuery: false}', 'featureGates.NodeLogQuery', 'locked to true'],
  ['enableSystemLogQuery: true\nenableSystemLogHandler: false', 'enableSystemLogQuery', 'needs enableSystemLogHandler'],
];

const observability: readonly Case[] = [
  ['logging: {format: xml}', 'logging.format', 'must be one of "text", "json"'],
  [
    'logging: {format: json, vmodule: [{filePattern: a, verbosity: 1}]}',
    'logging.vmodule',
    'only supported for the log format text',
  ],
  ['logging: {vmodule: [{filePattern: "", verbosity: 1}]}', 'logging.vmodule[0].filePattern', 'must not be empty'],
  [
    'logging: {vmodule: [{filePattern: "a=b", verbosity: 1}]}',
    'logging.vmodule[0].filePattern',
    'must not contain an equal sign',
  ],
  [
    'logging: {vmodule: [{filePattern: a, verbosity: 2147483648}]}',
    'logging.vmodule[0].verbosity',
    'must be 2147483647 or less',
  ],
  [
    'logging: {options: {json: {splitStream: true}}}',
    'logging.options.json.splitStream',
    'requires the feature gate LoggingAlphaOptions',
  ],
  [
    'logging: {options: {text: {infoBufferSize: 1Ki}}}',
    'logging.options.text.infoBufferSize',
    'requires the feature gate LoggingAlphaOptions',
  ],
  [
    'tracing: {endpoint: "http://x"}',
    'tracing.endpoint',
    'must be host:port, or a URL with the scheme dns, unix or unix-abstract',
  ],
  ['tracing: {endpoint: "a b"}', 'tracing.endpoint', 'must be host:port'],
  ['tracing: {endpoint: "[::1"}', 'tracing.endpoint', 'must be host:port'],
  ['tracing: {endpoint: "[::1]x"}', 'tracing.endpoint', 'must be host:port'],
  ['tracing: {endpoint: "a//b"}', 'tracing.endpoint', 'must be host:port'],
  ['tracing: {endpoint: "://b"}', 'tracing.endpoint', 'must be host:port'],
  ['tracing: {endpoint: "host:port"}', 'tracing.endpoint', 'must be host:port'],
  ['tracing: {endpoint: ":port"}', 'tracing.endpoint', 'must be host:port'],
  ['tracing: {endpoint: "user:1@host:port"}', 'tracing.endpoint', 'must be host:port'],
  ['tracing: {endpoint: "[host]"}', 'tracing.endpoint', 'must be host:port'],
  ['tracing: {endpoint: "[10.0.0.1]:80"}', 'tracing.endpoint', 'must be host:port'],
  ['tracing: {endpoint: "a\\x7fb"}', 'tracing.endpoint', 'must be host:port'],
  ['tracing: {endpoint: "unix:a"}', 'tracing.endpoint', 'must be host:port'],
  ['tracing: {endpoint: "unix-abstract:a"}', 'tracing.endpoint', 'must be host:port'],
  ['showHiddenMetricsForVersion: "1.20"', 'showHiddenMetricsForVersion', 'must be omitted or 1.35'],
];

describe.each(Object.entries({ single, pods, images, resources, eviction, node, observability }))(
  'validation of configuration files: %s',
  (_, cases) => {
    it.each(cases)('refuses the configuration %j at %s: %s', async (body, path, message) => {
      const error = await refusal({ config: file(body) });
      expect(error.issues.map((issue) => issue.path)).toContain(path);
      const issue = error.issues.find((candidate) => candidate.path === path);
      expect(issue?.message).toContain(message);
    });
  },
);

describe('validation', () => {
  it.each([
    'cpuCFSQuotaPeriod: 1s\nfeatureGates: {CustomCPUCFSQuotaPeriod: true}',
    'crashLoopBackOff: {maxContainerRestartPeriod: 1s}',
    'crashLoopBackOff: {maxContainerRestartPeriod: 300s}',
    'cgroupsPerQOS: false\nenforceNodeAllocatable: [none]',
    'cgroupsPerQOS: false\nenforceNodeAllocatable: []',
    'imageMaximumGCAge: 121s',
    'maxParallelImagePulls: 2\nserializeImagePulls: false',
    'evictionSoft: {memory.available: 1Gi}\nevictionSoftGracePeriod: {memory.available: 1m}',
    'evictionHard: {memory.available: 1e1%, nodefs.available: +.5E+1%, pid.available: 1.e-1%}\nevictionMinimumReclaim: {memory.available: 1e3%}',
    'evictionHard: {memory.available: 100%, nodefs.inodesFree: 5.5%, pid.available: 1k}',
    'systemReserved: {cpu: 100m, memory: 1Gi, ephemeral-storage: 1Gi, pid: "1000"}',
    'registerWithTaints: [{key: a.b/c, value: d, effect: NoExecute}]',
    'tracing: {endpoint: "localhost:4317", samplingRatePerMillion: 1000000}',
    'tracing: {endpoint: "unix:///run/otel.sock"}',
    'tlsCipherSuites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]\ntlsMinVersion: VersionTLS12\ntlsCurvePreferences: [29, 23]',
    'showHiddenMetricsForVersion: "1.35"',
    'healthzPort: 0\nreadOnlyPort: 10255',
    'healthzPort: 65535\nreadOnlyPort: 65535\nport: 1',
    'port: 65535',
    'oomScoreAdj: 1000',
    'oomScoreAdj: -1000',
    'imageGCHighThresholdPercent: 100\nimageGCLowThresholdPercent: 0',
    'iptablesDropBit: 31\niptablesMasqueradeBit: 0',
    'iptablesDropBit: 0\niptablesMasqueradeBit: 31',
    'nodeStatusMaxImages: -1\nnodeLeaseDurationSeconds: 1\nmaxParallelImagePulls: 1',
    'kubeAPIQPS: 0\neventRecordQPS: 0\nregistryPullQPS: 0',
    'memoryThrottlingFactor: 1.0',
    'memoryThrottlingFactor: 0.001',
    'containerLogMaxFiles: 2\ncontainerLogMonitorInterval: 3s',
    'logging: {verbosity: 2147483647, flushFrequency: 1ms}',
    'logging: {vmodule: [{filePattern: a, verbosity: 2147483647}]}',
    'logging: {options: {json: {splitStream: true}, text: {infoBufferSize: 1Ki}}}\nfeatureGates: {LoggingAlphaOptions: true}',
    'logging: {options: {json: {infoBufferSize: 1024}}}\nfeatureGates: {LoggingAlphaOptions: true}',
    'tracing: {samplingRatePerMillion: 0}',
    'cpuCFSQuotaPeriod: 1ms\nfeatureGates: {CustomCPUCFSQuotaPeriod: true}',
    'crashLoopBackOff: {maxContainerRestartPeriod: 300000900us}',
    'podLogsDir: /',
    'podLogsDir: "/var/log/\\x7f"',
    'userNamespaces: {idsPerPod: 65536}',
    'userNamespaces: {idsPerPod: 4294901760}',
    `allowedUnsafeSysctls: [net.${'a'.repeat(249)}]`,
    'staticPodURL: http://example.com/pods',
    'staticPodURL: HTTPS://example.com/pods',
    'evictionSoft: {memory.available: 0%, nodefs.available: 100%}',
    'evictionSoft: {memory.available: 0%}\nevictionSoftGracePeriod: {memory.available: 0s}',
    'evictionMinimumReclaim: {memory.available: "0", nodefs.available: 1%, pid.available: 101%}',
    'evictionHard: {memory.available: 1Gi, allocatableMemory.available: 1Gi, nodefs.available: 1%, nodefs.inodesFree: 1%, imagefs.available: +1%, imagefs.inodesFree: .5%, containerfs.available: 1.%, containerfs.inodesFree: 1%, pid.available: 0%}',
    'systemReserved: {cpu: "0"}\nkubeReserved: {memory: "0"}',
    'enforceNodeAllocatable: [pods, system-reserved, kube-reserved]\nsystemReservedCgroup: /s\nkubeReservedCgroup: /k',
    'enforceNodeAllocatable: [system-reserved-compressible, kube-reserved-compressible]\nsystemReservedCgroup: /s\nkubeReservedCgroup: /k',
    'reservedSystemCPUs: 0,5,1-1,7-9',
    'qosReserved: {memory: 100%}\nfeatureGates: {QOSReserved: true}',
    'qosReserved: {memory: 0%}\nfeatureGates: {QOSReserved: true}',
    'singleProcessOOMKill: false',
    'shutdownGracePeriod: 1s\nshutdownGracePeriodCriticalPods: 1s',
    'shutdownGracePeriodByPodPriority: [{priority: 0, shutdownGracePeriodSeconds: 1}]',
    NO_SHUTDOWN,
    'serverTLSBootstrap: true',
    'featureGates: {RotateKubeletServerCertificate: false}',
    `tlsCipherSuites: [${CIPHER_SUITES.join(', ')}]`,
    'tlsCurvePreferences: [23, 24, 25, 29, 4587, 4588, 4589]',
    'imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\npreloadedImagesVerificationAllowlist: [a, registry.io/a, registry.io/*, "registry.io/a/*"]',
    'tracing: {endpoint: "UNIX:///run/my socket"}',
    'tracing: {endpoint: "unix-abstract://a"}',
    'tracing: {endpoint: "dns://10.0.0.1/collector:4317"}',
    'tracing: {endpoint: "user:word@collector"}',
    'tracing: {endpoint: "collector:"}',
    'tracing: {endpoint: "[::1]"}',
    'tracing: {endpoint: "[fe80::1%25eth0]:4317"}',
    'podLogsDir: logs',
    'healthzBindAddress: localhost',
    'allowedUnsafeSysctls: [net.*, "kernel.msg*", kernel.sem, net/ipv4/ip_forward]',
    'healthzBindAddress: "::1"',
    'tracing: {endpoint: "[::1]:4317"}',
    'tracing: {endpoint: "ipv4:10.0.0.1:4317"}',
    'tracing: {endpoint: ":4317"}',
    'tracing: {endpoint: ""}',
    'tracing: {endpoint: collector}',
    'tlsCurvePreferences: [4588, 29]',
    'reservedSystemCPUs: ""\nregisterWithTaints: [{key: a}]\nlogging: {vmodule: [{filePattern: a}]}',
  ])('accepts the configuration %j', async (body) => {
    await expect(load({ config: file(body) })).resolves.toBeDefined();
  });

  // A file cannot set these values, but a flag or a program that embeds the kubelet can.
  it.each<[Partial<KubeletConfiguration>, readonly string[]]>([
    [{}, []],
    [{ nodeLeaseDurationSeconds: 0 }, ['nodeLeaseDurationSeconds: 0 must be greater than 0']],
    [{ nodeLeaseDurationSeconds: 1 }, []],
    [{ syncFrequencyMs: 0 }, ['syncFrequency: 0s must be longer than 0s']],
    [{ syncFrequencyMs: 0.5 }, []],
    [{ runOnce: true }, ['runOnce: must be false: the run-once mode is deprecated and cannot be enabled']],
    [{ port: 0 }, ['port: 0 must be between 1 and 65535, inclusive']],
    [{ podLogsDir: 'a/' }, ['podLogsDir: must be an absolute path', 'podLogsDir: must be normalized: a']],
    [{ podLogsDir: '' }, ['podLogsDir: must be an absolute path', 'podLogsDir: must be normalized: .']],
    [{ crashLoopBackOff: {} }, ['crashLoopBackOff.maxContainerRestartPeriod: must be between 1s and 300s']],
    [{ userNamespaces: { idsPerPod: 1 } }, ['userNamespaces.idsPerPod: must not be less than 65536']],
    [{ userNamespaces: { idsPerPod: 4_294_967_295 } }, ['userNamespaces.idsPerPod: must be a multiple of 65536']],
    [{ userNamespaces: { idsPerPod: 4_294_967_296 } }, ['userNamespaces.idsPerPod: must not be more than 4294967295']],
    [
      { imageGCHighThresholdPercent: 0, imageGCLowThresholdPercent: 0 },
      ['imageGCLowThresholdPercent: (0) must be less than imageGCHighThresholdPercent (0)'],
    ],
    [
      {
        reservedMemory: [
          { numaNode: 0, limits: { memory: '1Gi', 'hugepages-1Gi': '2Gi' } },
          { numaNode: 1, limits: { memory: '1Gi' } },
        ],
      },
      [],
    ],
    [
      { reservedMemory: [{ numaNode: 0, limits: { 'a-hugepages-': '1Gi' } }] },
      ['reservedMemory[0].limits["a-hugepages-"]: is not supported; only memory and hugepages-<size> can be reserved'],
    ],
    [{ tracing: { endpoint: 'localhost:4317', samplingRatePerMillion: 1 } }, []],
  ])('validation of a configuration with %j reports %j', (set, expected) => {
    const { gates } = resolveFeatureGates({});
    const violations = validateConfiguration(defaultConfiguration(set), { gates, cgroupVersion: 2 });
    expect(violations.map(({ path, message }) => `${path}: ${message}`)).toEqual(expected);
  });

  it('validates a field that a flag sets to zero, although zero in a file counts as unset', async () => {
    const zero = { argv: ['--sync-frequency=0s', '--log-flush-frequency=0'] };
    expect((await refusal(zero)).message.split('\n')).toEqual([
      '--sync-frequency: syncFrequency: 0s must be longer than 0s',
      '--log-flush-frequency: logging.flushFrequency: 0s must be greater than zero',
    ]);
  });

  it('refuses a relative podLogsDir in a drop-in, because drop-ins resolve no relative paths', async () => {
    const error = await refusal({ dropIns: { 'a.conf': file('podLogsDir: logs') } });
    expect(error.issues.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      'podLogsDir: must be an absolute path',
    ]);
  });

  it('a validation error has the position or flag of the value', async () => {
    expect((await refusal({ config: file('port: -1') })).message).toBe(
      '/etc/kubelet/config.yaml:3:7: port: -1 must be between 1 and 65535, inclusive',
    );
    expect((await refusal({ argv: ['--port=-1'] })).message).toBe(
      '--port: port: -1 must be between 1 and 65535, inclusive',
    );
    expect((await refusal({ dropIns: { 'a.conf': file('\nport: -1') } })).message).toContain(
      '/conf.d/a.conf:4:7: port',
    );
  });

  it('refuses a manifest URL header that HTTP does not allow, with file and position', async () => {
    const error = await refusal({ config: file('staticPodURLHeader: {X-Token: ["a\\u0001"], "": [b]}\n') });
    expect(error.message.split('\n')).toEqual([
      '/etc/kubelet/config.yaml:3:32: staticPodURLHeader["X-Token"][0]: must not contain control characters',
      '/etc/kubelet/config.yaml:3:48: staticPodURLHeader[""]: must be the name of an HTTP header',
    ]);
  });

  it('one error lists all invalid fields', async () => {
    const error = await refusal({ config: file('port: -1\nmaxPods: -1\nsystemCgroups: /x\n') });
    expect(error.code).toBe('invalid');
    expect(error.issues.map(({ path }) => path)).toEqual(['maxPods', 'port', 'systemCgroups']);
  });

  it('refuses a host with cgroup v1 if failCgroupV1 is true and the cgroup version is known', async () => {
    expect((await refusal({ cgroupVersion: 1 })).message).toContain(
      'failCgroupV1: is true, and this host uses cgroup v1',
    );
    await expect(load({ cgroupVersion: 1, argv: ['--fail-cgroupv1=false'] })).resolves.toBeDefined();
    await expect(load({ cgroupVersion: 2 })).resolves.toBeDefined();
    const error = await refusal({
      cgroupVersion: 1,
      config: file('failCgroupV1: false\nsingleProcessOOMKill: false\n'),
    });
    expect(error.message).toMatch(
      /4:23: singleProcessOOMKill: must not be explicitly set to false when using cgroup v1$/,
    );
    expect(error.code).toBe('invalid');
  });

  it.each([
    ['authorization-mode', 'authorization.mode'],
    ['container-runtime-endpoint', 'containerRuntimeEndpoint'],
    ['cpu-manager-policy', 'cpuManagerPolicy'],
    ['hairpin-mode', 'hairpinMode'],
    ['logging-format', 'logging.format'],
    ['memory-manager-policy', 'memoryManagerPolicy'],
    ['topology-manager-policy', 'topologyManagerPolicy'],
    ['topology-manager-scope', 'topologyManagerScope'],
  ])('refuses --%s with an empty value', async (flag, path) => {
    const error = await refusal({ argv: [`--${flag}=`] });
    expect(error.code).toBe('invalid');
    expect(error.message).toBe(`--${flag}: ${path}: must not be empty`);
  });

  it('refuses swapBehavior LimitedSwap on a host with cgroup v1', async () => {
    const swap = (behavior: string) => file(`failCgroupV1: false\nmemorySwap: {swapBehavior: ${behavior}}\n`);
    const error = await refusal({ cgroupVersion: 1, config: swap('LimitedSwap') });
    expect(error.message).toMatch(/4:28: memorySwap.swapBehavior: LimitedSwap is only supported with cgroup v2$/);
    expect(error.code).toBe('invalid');
    await expect(load({ cgroupVersion: 1, config: swap('NoSwap') })).resolves.toBeDefined();
    await expect(load({ cgroupVersion: 2, config: swap('LimitedSwap') })).resolves.toBeDefined();
  });
});
