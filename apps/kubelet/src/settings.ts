import { arch } from 'node:os';
import { join } from 'node:path';
import { listResourceConfig } from '@node-agent/cm-cgroups';
import { type FeatureGates, isFeatureName, type KubeletConfiguration, type KubeletFlags } from '@node-agent/config';
import { parseThresholds } from '@node-agent/eviction';
import type { RateLimit } from '@node-agent/kube-client';
import type { AssemblySettings, PodSourcePort } from '@node-agent/kubelet-assembly';
import { gracePeriodsOf } from '@node-agent/node-shutdown';
import { declaredFeatures, goArchitecture, initialLabels } from '@node-agent/node-status';
import type { ResourceList } from '@node-agent/pod-spec';
import { reservedGroups } from './enforced-resources.ts';
import type { Machine } from './machine.ts';
import type { NodeIdentity } from './node-identity.ts';
import type { NodeResources } from './node-resources.ts';

/** The first delay before a crashing container is started again; the configuration can only lower the longest one. */
const INITIAL_BACK_OFF_MS = 10_000;
/** What a node is run by: what it was told, what was found, and what was made of both. */
export interface NodeSetup {
  readonly configuration: KubeletConfiguration;
  readonly flags: KubeletFlags;
  readonly featureGates: FeatureGates;
  readonly machine: Machine;
  readonly identity: NodeIdentity;
  readonly resources: Pick<NodeResources, 'allocatable' | 'enforced' | 'unreserved'>;
  readonly sources: readonly PodSourcePort[];
  readonly servers: AssemblySettings['servers'];
  readonly userNamespaces: NonNullable<AssemblySettings['userNamespaces']>;
}

/** What the configuration, the flags and the machine mean for the parts of the kubelet. */
export function assemblySettings(setup: NodeSetup): AssemblySettings<KubeletConfiguration> {
  const { configuration, flags, featureGates, machine, identity, sources, servers } = setup;
  const memoryQos = featureGates.enabled('MemoryQoS') && machine.cgroupVersion === 2;
  // Of a slice that has no CPUs of its own systemd takes the controller away again; on v1 a group has its parent's by itself.
  const cpus = machine.cgroupVersion === 2 && machine.onlineCpus !== '' ? { cpus: machine.onlineCpus } : {};
  const maxBackOffMs = configuration.crashLoopBackOff.maxContainerRestartPeriodMs ?? 300_000;
  return {
    configuration,
    servers,
    ...identity,
    rootDirectory: flags.rootDir,
    containerLogsDirectory: containerLogsDirectory(configuration.podLogsDir),
    node: {
      podLogsDirectory: configuration.podLogsDir,
      seccompProfileRoot: join(flags.rootDir, 'seccomp'),
      seccompDefault: configuration.seccompDefault,
      extraMaskedPaths: machine.extraMaskedPaths,
      containerStopSignals: featureGates.enabled('ContainerStopSignals'),
      podIpFamily: identity.podIpFamily,
      resources: {
        cgroupVersion: machine.cgroupVersion,
        cpuCfsQuota: configuration.cpuCFSQuota,
        cpuCfsQuotaPeriodUs: configuration.cpuCFSQuotaPeriodMs * 1000,
        memoryCapacityBytes: machine.memoryCapacityBytes,
        swapCapacityBytes: machine.swapCapacityBytes,
        swapControllerAvailable: machine.swapControllerAvailable,
        swapBehavior: configuration.memorySwap.swapBehavior || 'NoSwap',
        hugePageSizes: machine.hugePageSizes,
        singleProcessOomKill: configuration.singleProcessOOMKill ?? machine.cgroupVersion === 1,
        ...(memoryQos && {
          memoryQos: {
            throttlingFactor: configuration.memoryThrottlingFactor,
            reservationPolicy: configuration.memoryReservationPolicy,
            allocatableMemoryBytes: Number(setup.resources.unreserved.get('memory')?.value() ?? 0n),
            pageSizeBytes: machine.pageSizeBytes,
          },
        }),
      },
    },
    nodeLabels: initialLabels({
      hostname: identity.nodeName,
      operatingSystem: 'linux',
      architecture: goArchitecture(arch()),
      nodeLabels: flags.nodeLabels,
    }),
    nodeAllocatable: setup.resources.allocatable,
    devices: {
      directory: join(flags.rootDir, 'device-plugins'),
      healthStatus: featureGates.enabled('ResourceHealthStatus'),
    },
    pluginsDirectory: join(flags.rootDir, 'plugins_registry'),
    sources,
    admission: {
      taintComparisons: featureGates.enabled('TaintTolerationComparisonOperators'),
      sysctls: { kernelRelease: machine.kernelRelease, allowedUnsafe: configuration.allowedUnsafeSysctls },
      appArmor: machine.appArmor,
      features: {
        podLevelResources: featureGates.enabled('PodLevelResources'),
        ...(featureGates.enabled('NodeDeclaredFeatures') && { declared: declared(featureGates) }),
      },
    },
    podCidr: configuration.podCIDR,
    dns: {
      resolvConfPath: configuration.resolvConf,
      clusterDns: configuration.clusterDNS,
      clusterDomain: configuration.clusterDomain,
      hostnameOverride: featureGates.enabled('HostnameOverride'),
    },
    syncFrequencyMs: configuration.syncFrequencyMs,
    restartFeatures: {
      containerRestartRules: featureGates.enabled('ContainerRestartRules'),
      restartAllContainers: featureGates.enabled('RestartAllContainersOnContainerExits'),
    },
    resize: {
      initContainers: featureGates.enabled('InPlacePodVerticalScalingInitContainers'),
      podLevel: featureGates.enabled('InPlacePodLevelResourcesVerticalScaling'),
      limitedSwap:
        configuration.memorySwap.swapBehavior === 'LimitedSwap' &&
        machine.swapControllerAvailable &&
        machine.cgroupVersion === 2,
    },
    backOff: { initialMs: Math.min(INITIAL_BACK_OFF_MS, maxBackOffMs), maxMs: maxBackOffMs },
    pulls: {
      serialize: configuration.serializeImagePulls,
      maxParallel: configuration.maxParallelImagePulls,
      qps: configuration.registryPullQPS,
      burst: configuration.registryBurst,
      ...(configuration.imagePullCredentialsVerificationPolicy && {
        verification: {
          policy: configuration.imagePullCredentialsVerificationPolicy,
          allowlist: configuration.preloadedImagesVerificationAllowlist,
        },
      }),
    },
    logs: {
      // No log is as large as what a number can say, and 1Ei is how some say that it has no limit.
      maxSizeBytes: Math.min(configuration.containerLogMaxSizeBytes, Number.MAX_SAFE_INTEGER),
      maxFiles: configuration.containerLogMaxFiles,
      maxWorkers: configuration.containerLogMaxWorkers,
      monitorIntervalMs: configuration.containerLogMonitorIntervalMs,
    },
    imageGc: {
      minAgeMs: configuration.imageMinimumGCAgeMs,
      maxAgeMs: configuration.imageMaximumGCAgeMs,
      highThresholdPercent: configuration.imageGCHighThresholdPercent,
      lowThresholdPercent: configuration.imageGCLowThresholdPercent,
    },
    containerGc: {
      minAgeMs: flags.minimumContainerTtlMs,
      maxPerPodContainer: flags.maximumDeadContainersPerContainer,
      maxContainers: flags.maximumDeadContainers,
    },
    userNamespaces: setup.userNamespaces,
    selinux: machine.selinux,
    cgroups: {
      driver: configuration.cgroupDriver || 'cgroupfs',
      cgroupRoot: configuration.cgroupRoot || '/',
      limits: { ...listResourceConfig(setup.resources.enforced), ...cpus },
      reserved: reservedGroups(configuration, { cpus, memoryQos }),
      ...(memoryQos && { memoryQos: configuration.memoryReservationPolicy }),
      ...qosReserved(configuration, featureGates, setup.resources.unreserved),
      podPidsLimit: configuration.podPidsLimit,
      cpuCfsQuota: configuration.cpuCFSQuota,
      cpuCfsQuotaPeriodUs: configuration.cpuCFSQuotaPeriodMs * 1000,
    },
    stats: {
      kubeletCgroups: configuration.kubeletCgroups,
      runtimeCgroups: flags.runtimeCgroups,
      systemCgroups: configuration.systemCgroups,
      fromRuntime: featureGates.enabled('PodAndContainerStatsFromCRI'),
      volumePeriodMs: configuration.volumeStatsAggPeriodMs,
    },
    eviction: evictionSettings(configuration, flags),
    ...(featureGates.enabled('GracefulNodeShutdown') && { shutdown: shutdownSettings(configuration, featureGates) }),
    // Two for each CPU keep a runtime busy while others wait for the disk; more only make all pods wait for each other.
    startConcurrency: 2 * machine.cpus,
  };
}

/** The features that the node declares; none of them takes more than its gate. */
function declared(gates: FeatureGates): readonly string[] {
  return declaredFeatures((gate) => isFeatureName(gate) && gates.effective(gate), undefined);
}

/** Memory alone is kept from lower classes, as the configuration was checked to say. */
function qosReserved(
  { qosReserved: { memory } }: KubeletConfiguration,
  gates: FeatureGates,
  unreserved: ResourceList,
): Pick<NonNullable<AssemblySettings['cgroups']>, 'qosReserved'> {
  if (memory === undefined || !gates.enabled('QOSReserved')) return {};
  const allocatableBytes = unreserved.get('memory')?.value() ?? 0n;
  return { qosReserved: { memoryPercent: Number.parseInt(memory, 10), allocatableBytes } };
}

/**
 * When pods are evicted. What is kept back from allocatable without eviction's part is not held to by eviction, either.
 * @throws EvictionError naming the field
 */
function evictionSettings(
  configuration: KubeletConfiguration,
  flags: KubeletFlags,
): NonNullable<AssemblySettings['eviction']> {
  const { enforceNodeAllocatable } = configuration;
  const ignored = flags.experimentalAllocatableIgnoreEviction;
  return {
    thresholds: parseThresholds({
      ...configuration,
      enforcesAllocatable: !ignored && enforceNodeAllocatable.includes('pods'),
    }),
    maxPodGracePeriodSeconds: configuration.evictionMaxPodGracePeriodSeconds,
    pressureTransitionMs: configuration.evictionPressureTransitionPeriodMs,
    localStorageCapacityIsolation: configuration.localStorageCapacityIsolation,
  };
}

/** How long a shutdown of the machine waits for pods. */
function shutdownSettings(
  configuration: KubeletConfiguration,
  gates: FeatureGates,
): NonNullable<AssemblySettings['shutdown']> {
  const byPodPriority = gates.enabled('GracefulNodeShutdownBasedOnPodPriority');
  return { gracePeriods: gracePeriodsOf({ ...configuration, byPodPriority }), keepTimes: byPodPriority };
}

/**
 * Collectors look in /var/log/containers. Pods whose logs are elsewhere belong to another node on the same machine,
 * and their links stand beside their logs.
 */
function containerLogsDirectory(podLogsDir: string): string {
  return podLogsDir === '/var/log/pods' ? '/var/log/containers' : join(podLogsDir, '../containers');
}

/** For how long a heartbeat is waited for: one that is late for the next, or for the lease, is of no use (`cmd/kubelet/app/server.go`). */
export function heartbeatTimeoutMs({
  nodeStatusUpdateFrequencyMs,
  nodeLeaseDurationSeconds,
}: Pick<KubeletConfiguration, 'nodeStatusUpdateFrequencyMs' | 'nodeLeaseDurationSeconds'>): number {
  return Math.min(nodeStatusUpdateFrequencyMs, nodeLeaseDurationSeconds * 1000);
}

/** What client-go takes where it is told of none (`DefaultQPS`, `k8s.io/client-go/rest`). */
const DEFAULT_QPS = 5;

/** How many requests go to the API server: `kubeAPIQPS` 0 lifts no limit. */
export function requestRate({
  kubeAPIQPS,
  kubeAPIBurst,
}: Pick<KubeletConfiguration, 'kubeAPIQPS' | 'kubeAPIBurst'>): RateLimit {
  return { qps: kubeAPIQPS || DEFAULT_QPS, burst: kubeAPIBurst };
}
