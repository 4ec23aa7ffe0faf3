import type { Counter, Histogram, Metrics } from '@node-agent/telemetry';

/** Metrics of device plugins, with upstream's names (`pkg/kubelet/metrics/metrics.go`). */
export interface DeviceMetrics {
  readonly registrations: Counter<'resource_name'>;
  readonly allocationSeconds: Histogram<'resource_name'>;
}

export function deviceMetrics(metrics: Metrics): DeviceMetrics {
  return {
    registrations: metrics.counter({
      name: 'kubelet_device_plugin_registration_total',
      help: 'Cumulative number of device plugin registrations. Broken down by resource name.',
      labels: ['resource_name'],
    }),
    allocationSeconds: metrics.histogram({
      name: 'kubelet_device_plugin_alloc_duration_seconds',
      help: 'Duration in seconds to serve a device plugin Allocation request. Broken down by resource name.',
      labels: ['resource_name'],
    }),
  };
}

/** Removes the series of a resource that is no longer offered (K4). */
export function forgetSeries({ registrations, allocationSeconds }: DeviceMetrics, resource: string): void {
  registrations.remove?.({ resource_name: resource });
  allocationSeconds.remove?.({ resource_name: resource });
}
