import type { MetricFamily, Sample } from './exposition.ts';
import type { ApiTime, CpuStats, MemoryStats, NodeSummary, PodStats, SwapStats } from './summary.ts';

interface Told {
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  readonly swap?: SwapStats;
}

const NS_PER_SECOND = 1e9;

/**
 * Returns the series of `/metrics/resource` (`pkg/kubelet/metrics/collectors/resource_metrics.go`).
 * @param summary `undefined` if it could not be collected; `resource_scrape_error` is then 1
 */
export function resourceMetrics(summary: NodeSummary | undefined): readonly MetricFamily[] {
  const samples = new Map<string, Sample[]>();
  const add = (name: string, labels: Sample['labels'], value: number | undefined, time?: ApiTime): void => {
    if (value === undefined) return;
    const sample = { labels, value, ...(time && { atMs: Date.parse(time) }) };
    const known = samples.get(name);
    if (known === undefined) samples.set(name, [sample]);
    else known.push(sample);
  };
  const addAll = (prefix: string, labels: Sample['labels'], { cpu, memory, swap }: Told): void => {
    add(`${prefix}_cpu_usage_seconds_total`, labels, seconds(cpu?.usageCoreNanoSeconds), cpu?.time);
    add(`${prefix}_memory_working_set_bytes`, labels, memory?.workingSetBytes, memory?.time);
    add(`${prefix}_swap_usage_bytes`, labels, swap?.swapUsageBytes, swap?.time);
  };
  if (summary !== undefined) {
    addAll('node', {}, summary.node);
    for (const { podRef, containers, ...pod } of newestOfEachName(summary.pods)) {
      const ofPod = { pod: podRef.name, namespace: podRef.namespace };
      for (const { name, startTime, ...container } of containers) {
        const labels = { container: name, ...ofPod };
        if (startTime !== null) add('container_start_time_seconds', labels, Date.parse(startTime) / 1000);
        addAll('container', labels, container);
        const { swap } = container;
        if (swap?.swapAvailableBytes === undefined) continue;
        add('container_swap_limit_bytes', labels, swap.swapAvailableBytes + (swap.swapUsageBytes ?? 0), swap.time);
      }
      addAll('pod', ofPod, pod);
    }
  }
  add('resource_scrape_error', {}, summary === undefined ? 1 : 0);
  return FAMILIES.map(([name, type, help]) => ({ name, type, help, samples: samples.get(name) ?? [] }));
}

/**
 * Omits a pod if a newer pod has the same name. The series are labelled by name, not by UID, so only one of the two
 * pods can be shown. The older pod is still terminating after a forced deletion. Upstream shows the older pod.
 * @param pods the oldest first
 */
function newestOfEachName(pods: readonly PodStats[]): readonly PodStats[] {
  return [...new Map(pods.map((pod) => [`${pod.podRef.namespace}/${pod.podRef.name}`, pod])).values()];
}

function seconds(ns: number | undefined): number | undefined {
  return ns === undefined ? undefined : ns / NS_PER_SECOND;
}

const SWAP = 'Reported only on non-windows systems';
const FAMILIES: readonly (readonly [name: string, type: MetricFamily['type'], help: string])[] = [
  ['node_cpu_usage_seconds_total', 'counter', '[STABLE] Cumulative cpu time consumed by the node in core-seconds'],
  ['node_memory_working_set_bytes', 'gauge', '[STABLE] Current working set of the node in bytes'],
  ['node_swap_usage_bytes', 'gauge', `[ALPHA] Current swap usage of the node in bytes. ${SWAP}`],
  [
    'container_cpu_usage_seconds_total',
    'counter',
    '[STABLE] Cumulative cpu time consumed by the container in core-seconds',
  ],
  ['container_memory_working_set_bytes', 'gauge', '[STABLE] Current working set of the container in bytes'],
  ['container_swap_usage_bytes', 'gauge', `[ALPHA] Current amount of the container swap usage in bytes. ${SWAP}`],
  ['container_swap_limit_bytes', 'gauge', `[ALPHA] Current amount of the container swap limit in bytes. ${SWAP}`],
  ['container_start_time_seconds', 'gauge', '[STABLE] Start time of the container since unix epoch in seconds'],
  ['pod_cpu_usage_seconds_total', 'counter', '[STABLE] Cumulative cpu time consumed by the pod in core-seconds'],
  ['pod_memory_working_set_bytes', 'gauge', '[STABLE] Current working set of the pod in bytes'],
  ['pod_swap_usage_bytes', 'gauge', `[ALPHA] Current amount of the pod swap usage in bytes. ${SWAP}`],
  ['resource_scrape_error', 'gauge', '[STABLE] 1 if there was an error while getting container metrics, 0 otherwise'],
];
