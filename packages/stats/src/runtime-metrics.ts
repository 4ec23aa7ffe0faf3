import { type Metric, type MetricDescriptor, MetricType, type PodSandboxMetrics } from '@node-agent/cri-client';
import type { MetricFamily, MetricSource, Sample } from './exposition.ts';

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LABEL = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

/**
 * Converts the runtime's own metrics (KEP-2371; `pkg/kubelet/metrics/collectors/cri_metrics.go`). A metric without a
 * descriptor, or in a form that scrapers reject, is omitted, because it would make the whole page invalid.
 */
export function runtimeMetrics(
  descriptors: readonly MetricDescriptor[],
  pods: readonly PodSandboxMetrics[],
): readonly MetricFamily[] {
  const known = new Map(descriptors.filter(isReadable).map((descriptor) => [descriptor.name, descriptor]));
  const families = new Map<
    string,
    { readonly help: string; readonly type: MetricFamily['type']; readonly samples: Map<string, Sample> }
  >();
  const all = pods.flatMap(({ metrics, containerMetrics }) => [
    ...metrics,
    ...containerMetrics.flatMap((container) => container.metrics),
  ]);
  for (const metric of all) {
    const descriptor = known.get(metric.name);
    if (descriptor === undefined) continue;
    const sample = sampleOf(metric, descriptor);
    if (sample === undefined) continue;
    const { help } = descriptor;
    const type = metric.metricType === MetricType.COUNTER ? 'counter' : 'gauge';
    const family = families.get(metric.name) ?? { help, type, samples: new Map<string, Sample>() };
    // Only one sample per set of label values is kept, because a scraper also rejects duplicate series.
    if (family.type === type) family.samples.set(metric.labelValues.join('\0'), sample);
    families.set(metric.name, family);
  }
  return [...families].map(([name, { help, type, samples }]) => ({ name, help, type, samples: [...samples.values()] }));
}

function isReadable({ name, labelKeys }: MetricDescriptor): boolean {
  return NAME.test(name) && labelKeys.every((key) => LABEL.test(key)) && new Set(labelKeys).size === labelKeys.length;
}

function sampleOf({ labelValues, value, timestamp }: Metric, { labelKeys }: MetricDescriptor): Sample | undefined {
  if (value === null || labelValues.length !== labelKeys.length) return undefined;
  const labels = Object.fromEntries(labelKeys.map((key, index) => [key, labelValues[index] ?? '']));
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
