import { type Clock, TimeSlice } from '@node-agent/async';
import { type Metric, type MetricDescriptor, MetricType, type PodSandboxMetrics } from '@node-agent/cri-client';
import type { MetricFamily, MetricSource, Sample } from './exposition.ts';

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LABEL = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

/** A family under construction. */
interface RuntimeFamily extends Omit<MetricFamily, 'samples'> {
  /** Samples by label values. */
  readonly samples: Map<string, Sample>;
}

/**
 * Converts the runtime's own metrics (KEP-2371; `pkg/kubelet/metrics/collectors/cri_metrics.go`). A metric without a
 * descriptor, or in a form that scrapers reject, is omitted, because it would make the whole page invalid. The event
 * loop is served in between. @throws the signal's reason
 */
export async function runtimeMetrics(
  descriptors: readonly MetricDescriptor[],
  pods: readonly PodSandboxMetrics[],
  components: { readonly clock: Pick<Clock, 'monotonic' | 'setTimer'> },
  signal?: AbortSignal,
): Promise<readonly MetricFamily[]> {
  const known = new Map(descriptors.filter(isReadable).map((descriptor) => [descriptor.name, descriptor]));
  const families = new Map<string, RuntimeFamily>();
  const slice = new TimeSlice(components);
  for (const metric of metricsOf(pods)) {
    const descriptor = known.get(metric.name);
    if (descriptor !== undefined) addMetric(families, metric, descriptor);
    if (slice.isDue()) await slice.pause(signal);
  }
  const all: MetricFamily[] = [];
  for (const family of families.values()) {
    all.push({ ...family, samples: [...family.samples.values()] });
    if (slice.isDue()) await slice.pause(signal);
  }
  return all;
}

function* metricsOf(pods: readonly PodSandboxMetrics[]): Iterable<Metric> {
  for (const { metrics, containerMetrics } of pods) {
    yield* metrics;
    for (const container of containerMetrics) yield* container.metrics;
  }
}

function addMetric(families: Map<string, RuntimeFamily>, metric: Metric, descriptor: MetricDescriptor): void {
  const sample = sampleOf(metric, descriptor);
  if (sample === undefined) return;
  const { name, help } = descriptor;
  const type = metric.metricType === MetricType.COUNTER ? 'counter' : 'gauge';
  let family = families.get(name);
  if (family === undefined) {
    family = { name, help, type, samples: new Map() };
    families.set(name, family);
  }
  // Only one sample per set of label values is kept, because a scraper also rejects duplicate series.
  if (family.type === type) family.samples.set(metric.labelValues.join('\0'), sample);
}

function isReadable({ name, labelKeys }: MetricDescriptor): boolean {
  return NAME.test(name) && labelKeys.every((key) => LABEL.test(key)) && new Set(labelKeys).size === labelKeys.length;
}

function sampleOf({ labelValues, value, timestamp }: Metric, { labelKeys }: MetricDescriptor): Sample | undefined {
  if (value === null || labelValues.length !== labelKeys.length) return undefined;
  const labels: Record<string, string> = {};
  for (let index = 0; index < labelKeys.length; index++) labels[labelKeys[index] ?? ''] = labelValues[index] ?? '';
  // A timestamp of 0 means that the value was measured for this response. The scraper then uses its own time.
  return { labels, value: value.value, ...(timestamp > 0 && { atMs: timestamp / 1e6 }) };
}

/**
 * Combines the runtime's metric families with the kubelet's families that the runtime does not report, so that no
 * dashboard loses a series (kubernetes/kubernetes#133884).
 */
export function preferring(first: readonly MetricFamily[], rest: readonly MetricSource[]): readonly MetricSource[] {
  const names = new Set(first.filter(({ samples }) => samples.length > 0).map(({ name }) => name));
  return [...first, ...rest.filter(({ name }) => !names.has(name))];
}
