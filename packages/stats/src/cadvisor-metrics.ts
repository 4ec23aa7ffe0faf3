import { CgroupLabels } from './container-labels.ts';
import { CONTAINER_METRICS, type ContainerMetric, SPEC_METRICS } from './container-metrics.ts';
import type { FormattedSample, MetricFamily, MetricSource } from './exposition.ts';
import { fileSystemMetrics } from './file-system-metrics.ts';
import type { FileSystemUse } from './file-systems.ts';
import type { GroupCollection } from './group-collection.ts';
import type { GroupFigures } from './group-figures.ts';
import { SharedLabels } from './label-text.ts';
import type { MachineFigures } from './machine-figures.ts';
import { machineMetrics } from './machine-metrics.ts';
import { rootOf } from './node-summary.ts';

/** Stats from which the metrics of `/metrics/cadvisor` are computed. */
export interface CadvisorInput {
  readonly machine: MachineFigures;
  /** Stats of the cgroups; `undefined` if they could not be read, which sets `container_scrape_error` to 1. */
  readonly groups: GroupCollection | undefined;
  readonly fileSystems: readonly FileSystemUse[];
  /** Device names by `major:minor`. */
  readonly devices: ReadonlyMap<string, string>;
  readonly nowMs: number;
}

/**
 * Returns the metrics of `/metrics/cadvisor`, with cAdvisor's names, labels and help texts (`metrics/prometheus.go`,
 * `metrics/prometheus_machine.go`; container labels as in `containerPrometheusLabelsFunc`,
 * `pkg/kubelet/server/server.go`).
 */
export function cadvisorMetrics({
  machine,
  groups,
  fileSystems,
  devices,
  nowMs,
}: CadvisorInput): readonly MetricSource[] {
  const failed = groups === undefined || groups.pods.status === 'rejected';
  return [
    ...machineMetrics(machine),
    {
      name: 'container_scrape_error',
      type: 'gauge',
      help: '1 if there was an error while getting container metrics, 0 otherwise',
      samples: [{ labels: {}, value: failed ? 1 : 0 }],
    },
    ...(groups
      ? joined(
          containerFamilies(groups, devices, nowMs),
          fileSystemMetrics(fileSystems, nowMs),
          devicesOfRoot(groups, devices),
        )
      : []),
  ];
}

/**
 * Adds the families of file systems, and merges families with the same name. A series of a device is dropped if the root
 * cgroup already has one.
 */
function joined(
  ofGroups: readonly MetricSource[],
  ofFileSystems: readonly MetricFamily[],
  ofRoot: ReadonlyMap<string, ReadonlySet<string | undefined>>,
): readonly MetricSource[] {
  const byName = new Map(ofGroups.map((family) => [family.name, family]));
  for (const family of ofFileSystems) {
    const { samples = [] } = byName.get(family.name) ?? {};
    const more = family.samples.filter(({ labels }) => !ofRoot.get(family.name)?.has(labels.device));
    byName.set(family.name, { ...family, samples: concatenated(samples, more) });
  }
  return [...byName.values()];
}

function* concatenated<T>(first: Iterable<T>, second: Iterable<T>): Iterable<T> {
  yield* first;
  yield* second;
}

/** Returns the devices for which the root cgroup has series, by the name of the metric. */
function devicesOfRoot(
  { groups }: GroupCollection,
  devices: ReadonlyMap<string, string>,
): ReadonlyMap<string, ReadonlySet<string | undefined>> {
  const root = groups.get('/');
  if (root === undefined) return new Map();
  return new Map(
    CONTAINER_METRICS.map(({ name, values }) => {
      const found = values(root, devices);
      return [name, new Set(typeof found === 'object' ? found.map(([{ device }]) => device) : [])];
    }),
  );
}

/** Stats of a cgroup, with the labels of its series. */
interface ShownGroup {
  readonly figures: GroupFigures;
  readonly labels: SharedLabels;
  readonly createdAtMs: number | undefined;
}

function containerFamilies(
  collection: GroupCollection,
  devices: ReadonlyMap<string, string>,
  nowMs: number,
): readonly MetricSource[] {
  const labelled = new CgroupLabels(collection);
  const shown = [...collection.groups.values()].map(
    (figures): ShownGroup => ({
      figures: figures.path === '/' ? rootOf(collection) : figures,
      labels: new SharedLabels(labelled.of(figures.path)),
      createdAtMs: labelled.createdAtMs(figures.path) ?? figures.createdAtMs,
    }),
  );
  // The samples are made while they are written: all samples of a large node take hundreds of megabytes.
  return [
    {
      name: 'container_last_seen',
      type: 'gauge',
      help: 'Last time a container was seen by the exporter',
      samples: samplesOf(
        shown,
        () => Math.floor(nowMs / 1000),
        () => nowMs,
      ),
    },
    {
      name: 'container_start_time_seconds',
      type: 'gauge',
      help: 'Start time of the container since unix epoch in seconds.',
      samples: samplesOf(shown, ({ createdAtMs }) =>
        createdAtMs === undefined ? undefined : Math.floor(createdAtMs / 1000),
      ),
    },
    ...SPEC_METRICS.map(
      ([name, help, value]): MetricSource => ({
        ...{ name, type: 'gauge', help },
        samples: samplesOf(shown, ({ figures }) => value(figures)),
      }),
    ),
    ...CONTAINER_METRICS.map(
      ({ name, type, help, values }): MetricSource => ({
        ...{ name, type, help },
        samples: samplesOf(
          shown,
          ({ figures }) => values(figures, devices),
          ({ figures }) => figures.atMs,
        ),
      }),
    ),
  ];
}

/** @param timeOf returns the time of a cgroup's samples. Default: no time */
function* samplesOf(
  shown: readonly ShownGroup[],
  valuesOf: (group: ShownGroup) => ReturnType<ContainerMetric['values']>,
  timeOf: (group: ShownGroup) => number | undefined = () => undefined,
): Iterable<FormattedSample> {
  for (const group of shown) {
    const { labels } = group;
    const found = valuesOf(group);
    if (found === undefined) continue;
    const atMs = timeOf(group);
    if (typeof found === 'number') yield { labelText: labels.text, value: found, atMs };
    else for (const [others, value] of found) yield { labelText: labels.textWith(others), value, atMs };
  }
}
