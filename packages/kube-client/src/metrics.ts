import type { Counter, Histogram, Metrics } from '@node-agent/telemetry';

const DURATION_BUCKETS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const SIZE_BUCKETS = [64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216];

/** The metrics that every Kubernetes client in Go has (`component-base/metrics/prometheus/restclient/metrics.go`). */
export interface RestClientMetrics {
  readonly requests: Counter<'code' | 'method' | 'host'>;
  readonly retries: Counter<'code' | 'verb' | 'host'>;
  readonly duration: Histogram<'verb' | 'host'>;
  readonly rateLimiterDuration: Histogram<'verb' | 'host'>;
  readonly requestSize: Histogram<'verb' | 'host'>;
  readonly responseSize: Histogram<'verb' | 'host'>;
}

/** Registers the metrics. Clients with the same registry share the metrics. */
export function restClientMetrics(metrics: Metrics): RestClientMetrics {
  const perVerb = ['verb', 'host'] as const;
  return {
    requests: metrics.counter({
      name: 'rest_client_requests_total',
      help: 'HTTP requests by status code, method and host.',
      labels: ['code', 'method', 'host'],
    }),
    retries: metrics.counter({
      name: 'rest_client_request_retries_total',
      help: 'Requests that were sent again, by status code, verb and host.',
      labels: ['code', 'verb', 'host'],
    }),
    duration: metrics.histogram({
      name: 'rest_client_request_duration_seconds',
      help: 'How long requests took, retries included, by verb and host.',
      labels: perVerb,
      buckets: DURATION_BUCKETS,
    }),
    rateLimiterDuration: metrics.histogram({
      name: 'rest_client_rate_limiter_duration_seconds',
      help: "How long requests waited for the client's own rate limit, by verb and host.",
      labels: perVerb,
      buckets: DURATION_BUCKETS,
    }),
    requestSize: metrics.histogram({
      name: 'rest_client_request_size_bytes',
      help: 'The size of request bodies, by verb and host.',
      labels: perVerb,
      buckets: SIZE_BUCKETS,
    }),
    responseSize: metrics.histogram({
      name: 'rest_client_response_size_bytes',
      help: 'The size of response bodies, by verb and host.',
      labels: perVerb,
      buckets: SIZE_BUCKETS,
    }),
  };
}
