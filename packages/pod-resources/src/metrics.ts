import type { Counter, Metrics } from '@node-agent/telemetry';

type ByVersion = Counter<'server_api_version'>;

/** Metrics of the API, with upstream's names (`pkg/kubelet/metrics/metrics.go`). */
export interface PodResourcesMetrics {
  readonly total: ByVersion;
  readonly list: ByVersion;
  readonly getAllocatable: ByVersion;
  readonly get: ByVersion;
  readonly getErrors: ByVersion;
}

export function podResourcesMetrics(metrics: Metrics): PodResourcesMetrics {
  const counter = (name: string, help: string): ByVersion =>
    metrics.counter({ name: `kubelet_pod_resources_endpoint_${name}`, help, labels: ['server_api_version'] });
  const by = 'Broken down by server api version.';
  return {
    total: counter('requests_total', `Cumulative number of requests to the PodResource endpoint. ${by}`),
    list: counter('requests_list', `Number of requests to the PodResource List endpoint. ${by}`),
    getAllocatable: counter(
      'requests_get_allocatable',
      `Number of requests to the PodResource GetAllocatableResources endpoint. ${by}`,
    ),
    get: counter('requests_get', `Number of requests to the PodResource Get endpoint. ${by}`),
    getErrors: counter('errors_get', `Number of requests to the PodResource Get endpoint which returned error. ${by}`),
  };
}
