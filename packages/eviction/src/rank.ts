import { type Pod, Quantity } from '@node-agent/pod-spec';
import { type DiskLayout, type DiskPart, diskPartsOf } from './disk-layout.ts';
import { diskUsage, memoryUsage, requestOf, type StatsOf } from './pod-usage.ts';
import { resourceOf, type Signal } from './signals.ts';
import { type EvictionPodStats, isCount } from './summary.ts';

/** A pod, and what its place among others follows from. */
export interface RankedPod {
  readonly pod: Pod;
  /** Whether there are figures of it. Who has none goes first, as nothing speaks for it. */
  readonly hasStats: boolean;
  readonly priority: number;
  /** Bytes, inodes or processes. */
  readonly usage: Quantity;
  /** Nothing of inodes and processes. */
  readonly request: Quantity;
  /** Whether it uses more than it asked for; this does not count for processes. */
  readonly exceedsRequest: boolean;
}

/**
 * The pods in the order in which they are to go for a signal (`rankMemoryPressure`, `rankDiskPressureFunc`, `rankPIDPressure` of
 * `pkg/kubelet/eviction/helpers.go`): those that use more than they asked for, then by priority, the lowest first, then by how much
 * more; for processes by priority and their number. Where that decides nothing the youngest goes first, then by UID.
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
