import { type Pod, Quantity } from '@node-agent/pod-spec';
import { type DiskLayout, type DiskPart, diskPartsOf } from './disk-layout.ts';
import { diskUsage, memoryUsage, requestOf, type StatsOf } from './pod-usage.ts';
import { resourceOf, type Signal } from './signals.ts';
import { type EvictionPodStats, isCount } from './summary.ts';

/** A pod with the values that determine its rank. */
export interface RankedPod {
  readonly pod: Pod;
  /** Whether the pod has stats. Pods without stats are evicted first. */
  readonly hasStats: boolean;
  readonly priority: number;
  /** Usage in bytes, inodes or processes. */
  readonly usage: Quantity;
  /** The pod's request, in the same unit as `usage`. Zero for inode and PID signals. */
  readonly request: Quantity;
  /** Whether the usage exceeds the request; not used for PID signals. */
  readonly exceedsRequest: boolean;
}

/**
 * Sorts pods into eviction order for a signal: first the pods that exceed their requests, then by lowest priority, then
 * by largest excess (`rankMemoryPressure`, `rankDiskPressureFunc`, `rankPIDPressure` of
 * `pkg/kubelet/eviction/helpers.go`). For PIDs: lowest priority, then most processes. Ties are broken by age, youngest
 * first, then by UID.
 */
export function rankPods(
  signal: Signal,
  pods: readonly Pod[],
  statsOf: StatsOf,
  layout: DiskLayout,
): readonly RankedPod[] {
  const resource = resourceOf(signal);
  const ranked = pods.map((pod) => factsOf(pod, statsOf(pod), resource, diskPartsOf(signal, layout)));
  const byExcess = resource === 'pids' ? [] : [noStatsFirst, exceedingFirst];
  return ranked.sort(inTurn([...byExcess, lowPriorityFirst, noStatsFirst, mostOverFirst, youngestFirst, byUid]));
}

function factsOf(
  pod: Pod,
  stats: EvictionPodStats | undefined,
  resource: ReturnType<typeof resourceOf>,
  parts: readonly DiskPart[],
): RankedPod {
  const request = requestOf(pod, resource);
  const usage = stats === undefined ? Quantity.zero : usageOf(pod, stats, resource, parts);
  const exceedsRequest = stats !== undefined && usage.compare(request) > 0;
  return { pod, hasStats: stats !== undefined, priority: pod.spec.priority ?? 0, usage, request, exceedsRequest };
}

function usageOf(
  pod: Pod,
  stats: EvictionPodStats,
  resource: ReturnType<typeof resourceOf>,
  parts: readonly DiskPart[],
): Quantity {
  switch (resource) {
    case 'memory':
      return memoryUsage(stats);
    case 'pids': {
      const count = stats.process_stats?.process_count;
      return Quantity.of(isCount(count) ? count : 0);
    }
    default:
      return diskUsage(pod, stats, parts, resource);
  }
}

type Compare = (one: RankedPod, other: RankedPod) => number;

const noStatsFirst: Compare = (one, other) => Number(one.hasStats) - Number(other.hasStats);
const exceedingFirst: Compare = (one, other) => Number(other.exceedsRequest) - Number(one.exceedsRequest);
const lowPriorityFirst: Compare = (one, other) => one.priority - other.priority;
const mostOverFirst: Compare = (one, other) => other.usage.sub(other.request).compare(one.usage.sub(one.request));
const youngestFirst: Compare = (one, other) => createdAt(other) - createdAt(one);
const byUid: Compare = (one, other) => (one.pod.metadata.uid < other.pod.metadata.uid ? -1 : 1);

function createdAt({ pod }: RankedPod): number {
  return Date.parse(String(pod.metadata.creationTimestamp)) || 0;
}

function inTurn(compares: readonly Compare[]): Compare {
  return (one, other) => compares.reduce((result, compare) => result || compare(one, other), 0);
}
