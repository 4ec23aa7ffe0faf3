import type { FormattedSample, MetricSource, Sample } from './exposition.ts';
import { SharedLabels } from './label-text.ts';
import type { ApiTime, CpuStats, MemoryStats, NodeSummary, PodStats, SwapStats } from './summary.ts';

/** Stats of a node, pod or container. */
interface Told {
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  readonly swap?: SwapStats;
  readonly startTime: ApiTime;
}

/** Stats with the labels of their series. */
interface Labelled {
  readonly labels: SharedLabels;
  readonly told: Told;
}

type Level = 'node' | 'pod' | 'container';

/** Returns a value and the time of its reading; `undefined` if the value is unknown. */
type Figure = (told: Told) => { readonly value: number | undefined; readonly time?: ApiTime | undefined } | undefined;

const NS_PER_SECOND = 1e9;

/**
 * Returns the series of `/metrics/resource` (`pkg/kubelet/metrics/collectors/resource_metrics.go`). The samples are made
 * while they are read.
 * @param summary `undefined` if it could not be collected; `resource_scrape_error` is then 1
 */
export function resourceMetrics(summary: NodeSummary | undefined): readonly MetricSource[] {
  const levels = summary && levelsOf(summary);
  const timeOf = timeParser();
  const help = '[STABLE] 1 if there was an error while getting container metrics, 0 otherwise';
  return [
    ...FAMILIES.map(
      ([name, type, text, level, figure]): MetricSource => ({
        ...{ name, type, help: text },
        samples: samplesOf(levels?.[level] ?? [], figure, timeOf),
      }),
    ),
    {
      ...{ name: 'resource_scrape_error', type: 'gauge', help },
      samples: [{ labels: {}, value: summary === undefined ? 1 : 0 }],
    },
  ];
}

function* samplesOf(
  all: readonly Labelled[],
  figure: Figure,
  timeOf: (time: string) => number,
): Iterable<FormattedSample> {
  for (const { labels, told } of all) {
    const { value, time } = figure(told) ?? {};
    if (value === undefined) continue;
    yield { labelText: labels.text, value, atMs: time ? timeOf(time) : undefined };
  }
}

/** Returns a function that parses each time once. All values of a container usually have the same time. */
function timeParser(): (time: string) => number {
  const known = new Map<string, number>();
  return (time) => {
    const atMs = known.get(time) ?? Date.parse(time);
    known.set(time, atMs);
    return atMs;
  };
}

function levelsOf({ node, pods }: NodeSummary): Readonly<Record<Level, readonly Labelled[]>> {
  const shown = newestOfEachName(pods);
  return {
    node: [{ labels: new SharedLabels({}), told: node }],
    pod: shown.map((pod) => ({ labels: new SharedLabels(labelsOf(pod)), told: pod })),
    container: shown.flatMap((pod) =>
      pod.containers.map((told) => ({ labels: new SharedLabels({ container: told.name, ...labelsOf(pod) }), told })),
    ),
  };
}

function labelsOf({ podRef: { name, namespace } }: PodStats): Sample['labels'] {
  return { pod: name, namespace };
}

/**
 * Omits a pod if a newer pod has the same name. The series are labelled by name, not by UID, so only one of the two
 * pods can be shown. The older pod is still terminating after a forced deletion. Upstream shows the older pod.
 * @param pods the oldest first
 */
function newestOfEachName(pods: readonly PodStats[]): readonly PodStats[] {
  return [...new Map(pods.map((pod) => [`${pod.podRef.namespace}/${pod.podRef.name}`, pod])).values()];
}

const CPU: Figure = ({ cpu }) => cpu && { value: seconds(cpu.usageCoreNanoSeconds), time: cpu.time };
const MEMORY: Figure = ({ memory }) => memory && { value: memory.workingSetBytes, time: memory.time };
const SWAP: Figure = ({ swap }) => swap && { value: swap.swapUsageBytes, time: swap.time };
const SWAP_LIMIT: Figure = ({ swap }) =>
  swap?.swapAvailableBytes === undefined
    ? undefined
    : { value: swap.swapAvailableBytes + (swap.swapUsageBytes ?? 0), time: swap.time };
const START: Figure = ({ startTime }) => (startTime === null ? undefined : { value: Date.parse(startTime) / 1000 });

function seconds(ns: number | undefined): number | undefined {
  return ns === undefined ? undefined : ns / NS_PER_SECOND;
}

const LINUX = 'Reported only on non-windows systems';
const FAMILIES: readonly (readonly [
  name: string,
  type: MetricSource['type'],
  help: string,
  level: Level,
  figure: Figure,
])[] = [
  [
    'node_cpu_usage_seconds_total',
    'counter',
    '[STABLE] Cumulative cpu time consumed by the node in core-seconds',
    'node',
    CPU,
  ],
  ['node_memory_working_set_bytes', 'gauge', '[STABLE] Current working set of the node in bytes', 'node', MEMORY],
  ['node_swap_usage_bytes', 'gauge', `[ALPHA] Current swap usage of the node in bytes. ${LINUX}`, 'node', SWAP],
  [
    'container_cpu_usage_seconds_total',
    'counter',
    '[STABLE] Cumulative cpu time consumed by the container in core-seconds',
    'container',
    CPU,
  ],
  [
    'container_memory_working_set_bytes',
    'gauge',
    '[STABLE] Current working set of the container in bytes',
    'container',
    MEMORY,
  ],
  [
    'container_swap_usage_bytes',
    'gauge',
    `[ALPHA] Current amount of the container swap usage in bytes. ${LINUX}`,
    'container',
    SWAP,
  ],
  [
    'container_swap_limit_bytes',
    'gauge',
    `[ALPHA] Current amount of the container swap limit in bytes. ${LINUX}`,
    'container',
    SWAP_LIMIT,
  ],
  [
    'container_start_time_seconds',
    'gauge',
    '[STABLE] Start time of the container since unix epoch in seconds',
    'container',
    START,
  ],
  [
    'pod_cpu_usage_seconds_total',
    'counter',
    '[STABLE] Cumulative cpu time consumed by the pod in core-seconds',
    'pod',
    CPU,
  ],
  ['pod_memory_working_set_bytes', 'gauge', '[STABLE] Current working set of the pod in bytes', 'pod', MEMORY],
  ['pod_swap_usage_bytes', 'gauge', `[ALPHA] Current amount of the pod swap usage in bytes. ${LINUX}`, 'pod', SWAP],
];
