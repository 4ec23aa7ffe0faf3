import { arch } from 'node:os';
import { join } from 'node:path';
import { listResourceConfig } from '@node-agent/cm-cgroups';
import { type FeatureGates, isFeatureName, type KubeletConfiguration, type KubeletFlags } from '@node-agent/config';
import { parseThresholds } from '@node-agent/eviction';
import type { RateLimit } from '@node-agent/kube-client';
import type { AssemblySettings, NodeLimits, PodSourcePort } from '@node-agent/kubelet-assembly';
import { gracePeriodsOf } from '@node-agent/node-shutdown';
import { declaredFeatures, goArchitecture, initialLabels } from '@node-agent/node-status';
import type { ResourceList } from '@node-agent/pod-spec';
import type { Machine } from '../node/machine.ts';
import type { NodeIdentity } from '../node/node-identity.ts';
import { reservedGroups } from './enforced-resources.ts';
import type { NodeResources } from './node-resources.ts';

/** Initial back-off before a crashed container is restarted. The configuration can only lower the maximum back-off. */
const INITIAL_BACK_OFF_MS = 10_000;
/** Inputs of the kubelet's settings: configuration, flags, and facts read from the machine. */
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
  readonly resourceManagers: NonNullable<AssemblySettings['resourceManagers']>;
}

/** Translates configuration, flags and machine facts into the settings of the kubelet's parts. */
export function assemblySettings(setup: NodeSetup): AssemblySettings<KubeletConfiguration> {
  const { configuration, flags, featureGates, machine, identity, sources, servers } = setup;
  const memoryQos = featureGates.enabled('MemoryQoS') && machine.cgroupVersion === 2;
  // On cgroup v2, systemd disables the cpuset controller of a slice that sets no CPUs. On v1, a cgroup gets its
  // parent's CPUs.
  const cpus = machine.cgroupVersion === 2 && machine.onlineCpus !== '' ? { cpus: machine.onlineCpus } : {};
  const limits = nodeLimits(configuration, flags, setup.resources.allocatable);
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
    flexVolumeDirectory: configuration.volumePluginDir,
    volumeHealth: featureGates.enabled('CSIVolumeHealth'),
    devices: {
      directory: join(flags.rootDir, 'device-plugins'),
      healthStatus: featureGates.enabled('ResourceHealthStatus'),
    },
    resourceClaims: {
      extendedResources: featureGates.enabled('DRAExtendedResource'),
      workloadClaims: featureGates.enabled('DRAWorkloadResourceClaims'),
      health: featureGates.enabled('ResourceHealthStatus'),
      healthMessages: featureGates.enabled('ResourceHealthStatusMessage'),
    },
    resourceManagers: setup.resourceManagers,
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
      staticCpus: configuration.cpuManagerPolicy === 'static',
      staticMemory: configuration.memoryManagerPolicy === 'Static',
      exclusiveCpus: featureGates.enabled('InPlacePodVerticalScalingExclusiveCPUs'),
      exclusiveMemory: featureGates.enabled('InPlacePodVerticalScalingExclusiveMemory'),
    },
    backOff: { initialMs: Math.min(INITIAL_BACK_OFF_MS, maxBackOffMs), maxMs: maxBackOffMs },
    pulls: {
      serialize: configuration.serializeImagePulls,
      maxParallel: configuration.maxParallelImagePulls,
      ...limits.pulls,
      ...(configuration.imagePullCredentialsVerificationPolicy && {
        verification: {
          policy: configuration.imagePullCredentialsVerificationPolicy,
          allowlist: configuration.preloadedImagesVerificationAllowlist,
        },
      }),
    },
    logs: { ...limits.logs, maxWorkers: configuration.containerLogMaxWorkers },
    imageGc: limits.imageGc,
    containerGc: {
      minAgeMs: flags.minimumContainerTtlMs,
      maxPerPodContainer: flags.maximumDeadContainersPerContainer,
      maxContainers: flags.maximumDeadContainers,
    },
    userNamespaces: setup.userNamespaces,
    selinux: machine.selinux,
    ...(machine.selinuxFileContext !== undefined && {
      selinuxVolumes: {
        fileContext: machine.selinuxFileContext,
        allAccessModes: featureGates.enabled('SELinuxMount'),
      },
    }),
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
    eviction: {
      ...limits.eviction,
      localStorageCapacityIsolation: configuration.localStorageCapacityIsolation,
    },
    ...(featureGates.enabled('GracefulNodeShutdown') && { shutdown: shutdownSettings(configuration, featureGates) }),
    // Two concurrent pod starts per CPU keep the runtime busy while some of the starts wait for the disk. More
    // concurrent starts would only delay all pods.
    startConcurrency: 2 * machine.cpus,
  };
}

/** Returns the features that the node declares. Each feature depends only on its feature gate. */
function declared(gates: FeatureGates): readonly string[] {
  return declaredFeatures((gate) => isFeatureName(gate) && gates.effective(gate), undefined);
}

/** Returns the QoS reservations. The configuration's validation ensures that only memory is reserved. */
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
 * Returns the settings of the assembled components that can change while the kubelet runs.
 * @param allocatable allocatable resources of a node without an API server
 * @throws EvictionError naming the invalid field
 */
export function nodeLimits(
  configuration: KubeletConfiguration,
  flags: KubeletFlags,
  allocatable: NodeLimits['allocatable'],
): NodeLimits & { readonly imageGc: NonNullable<NodeLimits['imageGc']> } {
  return {
    allocatable,
    eviction: evictionLimits(configuration, flags),
    imageGc: {
      minAgeMs: configuration.imageMinimumGCAgeMs,
      maxAgeMs: configuration.imageMaximumGCAgeMs,
      highThresholdPercent: configuration.imageGCHighThresholdPercent,
      lowThresholdPercent: configuration.imageGCLowThresholdPercent,
    },
    logs: {
      // Capped at the largest safe integer: some configurations use 1Ei for "no limit", and no log reaches that size.
      maxSizeBytes: Math.min(configuration.containerLogMaxSizeBytes, Number.MAX_SAFE_INTEGER),
      maxFiles: configuration.containerLogMaxFiles,
      monitorIntervalMs: configuration.containerLogMonitorIntervalMs,
    },
    pulls: { qps: configuration.registryPullQPS, burst: configuration.registryBurst },
    pods: { maxPods: configuration.maxPods, podsPerCore: configuration.podsPerCore },
  };
}

/**
 * Returns the eviction settings. With `--experimental-allocatable-ignore-eviction`, eviction does not enforce
 * allocatable.
 * @throws EvictionError naming the invalid field
 */
function evictionLimits(configuration: KubeletConfiguration, flags: KubeletFlags): NodeLimits['eviction'] {
  const { enforceNodeAllocatable } = configuration;
  const ignored = flags.experimentalAllocatableIgnoreEviction;
  return {
    thresholds: parseThresholds({
      ...configuration,
      enforcesAllocatable: !ignored && enforceNodeAllocatable.includes('pods'),
    }),
    maxPodGracePeriodSeconds: configuration.evictionMaxPodGracePeriodSeconds,
    pressureTransitionMs: configuration.evictionPressureTransitionPeriodMs,
  };
}

/** Returns the grace periods of a graceful node shutdown. */
function shutdownSettings(
  configuration: KubeletConfiguration,
  gates: FeatureGates,
): NonNullable<AssemblySettings['shutdown']> {
  const byPodPriority = gates.enabled('GracefulNodeShutdownBasedOnPodPriority');
  return { gracePeriods: gracePeriodsOf({ ...configuration, byPodPriority }), keepTimes: byPodPriority };
}

/**
 * Returns the directory of log symlinks. Log collectors read /var/log/containers. If `podLogsDir` is not the default,
 * the pods belong to another node on the same machine, and their symlinks are next to their logs.
 */
function containerLogsDirectory(podLogsDir: string): string {
  return podLogsDir === '/var/log/pods' ? '/var/log/containers' : join(podLogsDir, '../containers');
}

/**
 * Returns the timeout of a heartbeat request: a heartbeat that arrives after the next one is due or after the lease has
 * expired is useless (`cmd/kubelet/app/server.go`).
 */
export function heartbeatTimeoutMs({
  nodeStatusUpdateFrequencyMs,
  nodeLeaseDurationSeconds,
}: Pick<KubeletConfiguration, 'nodeStatusUpdateFrequencyMs' | 'nodeLeaseDurationSeconds'>): number {
  return Math.min(nodeStatusUpdateFrequencyMs, nodeLeaseDurationSeconds * 1000);
}

/** Default rate limit of client-go (`DefaultQPS`, `k8s.io/client-go/rest`). */
const DEFAULT_QPS = 5;

/** Returns the rate limit of API requests. `kubeAPIQPS: 0` means client-go's default, not unlimited. */
export function requestRate({
  kubeAPIQPS,
  kubeAPIBurst,
}: Pick<KubeletConfiguration, 'kubeAPIQPS' | 'kubeAPIBurst'>): RateLimit {
  return { qps: kubeAPIQPS || DEFAULT_QPS, burst: kubeAPIBurst };
}
