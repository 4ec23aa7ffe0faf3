import type { AssemblySettings } from '@node-agent/kubelet-assembly';
import type { MachineSize } from './hollow-machine.ts';

/** Settings that all hollow nodes have in common. */
export interface HollowNodeSettings {
  readonly size: MachineSize;
  readonly maxPods: number;
  /** Address of the node (`InternalIP`) and of its kubelet server. */
  readonly address: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly { readonly key: string; readonly value?: string; readonly effect: string }[];
  /** Addresses of the cluster's DNS server, for pods. */
  readonly clusterDns: readonly string[];
  /** Duration of the node lease (`nodeLeaseDurationSeconds`). */
  readonly leaseDurationSeconds: number;
}

/** Directory of container logs in the node's own file system. */
const POD_LOGS = '/var/log/pods';
const ROOT = '/var/lib/kubelet';

/** Returns the settings of a hollow node's kubelet: upstream's defaults, without eviction, devices and swap. */
export function kubeletSettings(
  { size, address, clusterDns }: HollowNodeSettings,
  node: Pick<AssemblySettings, 'nodeName' | 'servers' | 'podCidr'>,
): AssemblySettings<undefined> {
  return {
    ...node,
    configuration: undefined,
    nodeIps: [address],
    rootDirectory: ROOT,
    containerLogsDirectory: '/var/log/containers',
    node: {
      podLogsDirectory: POD_LOGS,
      seccompProfileRoot: `${ROOT}/seccomp`,
      seccompDefault: false,
      extraMaskedPaths: [],
      containerStopSignals: false,
      resources: {
        cgroupVersion: 2,
        cpuCfsQuota: true,
        cpuCfsQuotaPeriodUs: 100_000,
        memoryCapacityBytes: size.memoryBytes,
        swapCapacityBytes: 0,
        swapControllerAvailable: false,
        swapBehavior: 'NoSwap',
        hugePageSizes: [],
        singleProcessOomKill: false,
      },
    },
    sources: [],
    dns: { resolvConfPath: '/etc/resolv.conf', clusterDns, clusterDomain: 'cluster.local' },
    syncFrequencyMs: 60_000,
    backOff: { initialMs: 10_000, maxMs: 300_000 },
    pulls: { serialize: false, maxParallel: undefined, qps: 5, burst: 10 },
    logs: { maxSizeBytes: 1024 * 1024, maxFiles: 2, maxWorkers: 1, monitorIntervalMs: 60_000 },
    containerGc: { minAgeMs: 0, maxPerPodContainer: 1, maxContainers: -1 },
    stats: { fromRuntime: true },
    startConcurrency: 4,
  };
}
