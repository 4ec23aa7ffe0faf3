import { CgroupLabels } from './container-labels.ts';
import { CONTAINER_METRICS, type ContainerMetric, SPEC_METRICS } from './container-metrics.ts';
import type { MetricFamily, Sample } from './exposition.ts';
import { fileSystemMetrics } from './file-system-metrics.ts';
import type { FileSystemUse } from './file-systems.ts';
import type { GroupCollection } from './group-collection.ts';
import type { GroupFigures } from './group-figures.ts';
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
}: CadvisorInput): readonly MetricFamily[] {
  const failed = groups === undefined || groups.pods.status === 'rejected';
  return [
    ...machineMetrics(machine),
    {
      name: 'container_scrape_error',
      type: 'gauge',
      help: '1 if there was an error while getting container metrics, 0 otherwise',
      samples: [{ labels: {}, value: failed ? 1 : 0 }],
    },
    ...(groups ? joined(containerFamilies(groups, devices, nowMs), fileSystemMetrics(fileSystems, nowMs)) : []),
  ];
}

/**
 * Merges families with the same name. If the first family has a series of the root cgroup for a device, the second
 * family's series of the device is dropped.
 */
function joined(first: readonly MetricFamily[], second: readonly MetricFamily[]): readonly MetricFamily[] {
  const byName = new Map(first.map((family) => [family.name, family]));
  for (const family of second) {
    const known = byName.get(family.name);
    const { samples = [] } = known ?? {};
    const roots = new Set(samples.filter(({ labels }) => labels.id === '/').map(({ labels }) => labels.device));
    const more = family.samples.filter(({ labels }) => !roots.has(labels.device));
    byName.set(family.name, { ...family, samples: [...samples, ...more] });
  }
  return [...byName.values()];
}

function containerFamilies(
  collection: GroupCollection,
  devices: ReadonlyMap<string, string>,
  nowMs: number,
): readonly MetricFamily[] {
  const labelled = new CgroupLabels(collection);
  const shown = [...collection.groups.values()].map((figures) => ({
    figures: figures.path === '/' ? rootOf(collection) : figures,
    labels: labelled.of(figures.path),
    createdAtMs: labelled.createdAtMs(figures.path) ?? figures.createdAtMs,
  }));
  const families: MetricFamily[] = [
    {
      name: 'container_last_seen',
      type: 'gauge',
      help: 'Last time a container was seen by the exporter',
      samples: shown.map(({ labels }) => ({ labels, value: Math.floor(nowMs / 1000), atMs: nowMs })),
    },
    {
      name: 'container_start_time_seconds',
      type: 'gauge',
      help: 'Start time of the container since unix epoch in seconds.',
      samples: shown.flatMap(({ labels, createdAtMs }) =>
        createdAtMs === undefined ? [] : [{ labels, value: Math.floor(createdAtMs / 1000) }],
      ),
    },
  ];
  for (const [name, help, value] of SPEC_METRICS) {
    const samples = shown.flatMap(({ figures, labels }): Sample[] => {
      const found = value(figures);
      return found === undefined ? [] : [{ labels, value: found }];
    });
    families.push({ name, type: 'gauge', help, samples });
  }
  for (const metric of CONTAINER_METRICS) {
    const samples = shown.flatMap(({ figures, labels }) => samplesOf(metric, figures, labels, devices));
    families.push({ name: metric.name, type: metric.type, help: metric.help, samples });
  }
  return families;
}

function samplesOf(
  { values }: ContainerMetric,
  figures: GroupFigures,
  labels: Sample['labels'],
  devices: ReadonlyMap<string, string>,
): readonly Sample[] {
  const found = values(figures, devices);
  if (found === undefined) return [];
  const atMs = figures.atMs;
  if (typeof found === 'number') return [{ labels, value: found, atMs }];
  return found.map(([extra, value]) => ({ labels: { ...labels, ...extra }, value, atMs }));
}
