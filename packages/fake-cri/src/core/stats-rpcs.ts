import {
  type ContainerStats,
  type ContainerStatsFilter,
  type Init,
  type MetricDescriptor,
  MetricType,
  type PodSandboxMetrics,
  type PodSandboxStats,
  type PodSandboxStatsFilter,
} from '@node-agent/cri-client';
import { failure } from './failure.ts';
import { batches, matchesLabels } from './filters.ts';
import { findById } from './names.ts';
import type { Handlers } from './rpcs.ts';
import { containerOf, containersIn, type RuntimeState, type SandboxRecord, sandboxOf } from './state.ts';
import { containerStats, sandboxStats, type Usage, usageOf } from './stats.ts';

type StatsHandlers = Pick<
  Handlers,
  | 'containerStats'
  | 'listContainerStats'
  | 'streamContainerStats'
  | 'podSandboxStats'
  | 'listPodSandboxStats'
  | 'streamPodSandboxStats'
  | 'listMetricDescriptors'
  | 'listPodSandboxMetrics'
  | 'streamPodSandboxMetrics'
>;

const LABEL_KEYS = ['pod', 'namespace', 'container', 'id', 'image'];

const METRICS: readonly {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  value(usage: Usage): number;
}[] = [
  {
    name: 'container_cpu_usage_seconds_total',
    help: 'CPU time used by the container, in seconds',
    type: MetricType.COUNTER,
    value: (usage) => Math.floor(usage.cpuNanoSeconds / 1e9),
  },
  {
    name: 'container_memory_working_set_bytes',
    help: 'Memory of the container that cannot be reclaimed, in bytes',
    type: MetricType.GAUGE,
    value: (usage) => usage.memoryBytes,
  },
  {
    name: 'container_processes',
    help: 'Number of processes running in the container',
    type: MetricType.GAUGE,
    value: (usage) => usage.processes,
  },
];

/** Returns the handlers of the stats and metrics RPCs. */
export function statsRpcs(state: RuntimeState): StatsHandlers {
  return {
    async containerStats({ containerId }) {
      const container = containerOf(state, containerId, 'failed to find container');
      const stats = containerStats(state, container);
      if (stats === undefined) throw failure('UNKNOWN', 'unexpected metrics response: []');
      return { stats };
    },

    async listContainerStats({ filter }) {
      return { stats: listContainerStats(state, filter) };
    },

    async *streamContainerStats({ filter }) {
      for (const stats of batches(listContainerStats(state, filter), state.streamBatchSize)) {
        yield { containerStats: stats };
      }
    },

    async podSandboxStats({ podSandboxId }) {
      const sandbox = sandboxOf(state, podSandboxId, 'an error occurred when trying to find sandbox');
      if (!sandbox.ready) {
        throw failure('UNAVAILABLE', `failed to get pod sandbox stats: sandbox "${sandbox.id}" is not in ready state`);
      }
      return { stats: sandboxStats(state, sandbox) };
    },

    async listPodSandboxStats({ filter }) {
      return { stats: listSandboxStats(state, filter) };
    },

    async *streamPodSandboxStats({ filter }) {
      for (const stats of batches(listSandboxStats(state, filter), state.streamBatchSize)) {
        yield { podSandboxStats: stats };
      }
    },

    async listMetricDescriptors() {
      const descriptors: Init<MetricDescriptor>[] = METRICS.map(({ name, help }) => ({
        name,
        help,
        labelKeys: LABEL_KEYS,
      }));
      return { descriptors };
    },

    async listPodSandboxMetrics() {
      return { podMetrics: readySandboxes(state).map((sandbox) => sandboxMetrics(state, sandbox)) };
    },

    async *streamPodSandboxMetrics() {
      const all = readySandboxes(state).map((sandbox) => sandboxMetrics(state, sandbox));
      for (const podSandboxMetrics of batches(all, state.streamBatchSize)) yield { podSandboxMetrics };
    },
  };
}

function listContainerStats(state: RuntimeState, filter: ContainerStatsFilter | null): Init<ContainerStats>[] {
  const id = filter?.id ? (findById(state.containers, filter.id)?.id ?? filter.id) : '';
  const sandboxId = filter?.podSandboxId
    ? (findById(state.sandboxes, filter.podSandboxId)?.id ?? filter.podSandboxId)
    : '';
  return [...state.containers.values()]
    .filter(
      (container) =>
        (id === '' || id === container.id) &&
        (sandboxId === '' || sandboxId === container.sandboxId) &&
        matchesLabels(filter?.labelSelector ?? {}, container.config.labels),
    )
    .map((container) => containerStats(state, container))
    .filter((stats) => stats !== undefined);
}

function listSandboxStats(state: RuntimeState, filter: PodSandboxStatsFilter | null): Init<PodSandboxStats>[] {
  const id = filter?.id ? (findById(state.sandboxes, filter.id)?.id ?? filter.id) : '';
  return readySandboxes(state)
    .filter(
      (sandbox) =>
        (id === '' || id === sandbox.id) && matchesLabels(filter?.labelSelector ?? {}, sandbox.config.labels),
    )
    .map((sandbox) => sandboxStats(state, sandbox));
}

function readySandboxes(state: RuntimeState): SandboxRecord[] {
  return [...state.sandboxes.values()].filter((sandbox) => sandbox.ready);
}

function sandboxMetrics(state: RuntimeState, sandbox: SandboxRecord): Init<PodSandboxMetrics> {
  const timestamp = state.stampNs();
  const containerMetrics = containersIn(state, sandbox.id).flatMap((container) => {
    const usage = usageOf(state, container);
    if (usage === undefined) return [];
    const image = container.config.image?.image ?? '';
    const labelValues = [
      sandbox.metadata.name,
      sandbox.metadata.namespace,
      container.metadata.name,
      container.id,
      image,
    ];
    const metrics = METRICS.map(({ name, type, value }) => ({
      name,
      timestamp,
      metricType: type,
      labelValues,
      value: { value: value(usage) },
    }));
    return [{ containerId: container.id, metrics }];
  });
  return { podSandboxId: sandbox.id, metrics: [], containerMetrics };
}
