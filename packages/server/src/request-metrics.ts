import type { Clock } from '@node-agent/async';
import type { Counter, Gauge, Histogram, Labels, Metrics } from '@node-agent/telemetry';

type RequestLabel = 'method' | 'path' | 'server_type' | 'long_running';
const LABELS: readonly RequestLabel[] = ['method', 'path', 'server_type', 'long_running'];
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'TRACE', 'OPTIONS', 'CONNECT']);

/** Counts requests under upstream's metric names (`pkg/kubelet/server/metrics`). */
export class RequestMetrics {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #total: Counter<RequestLabel>;
  readonly #seconds: Histogram<RequestLabel>;
  readonly #inFlight: Gauge<RequestLabel>;
  readonly #underWay = new Map<string, number>();

  constructor(components: { readonly clock: Pick<Clock, 'monotonic'>; readonly metrics: Metrics }) {
    const { clock, metrics } = components;
    this.#clock = clock;
    this.#total = metrics.counter({
      name: 'kubelet_http_requests_total',
      help: 'Number of the http requests received since the server started',
      labels: LABELS,
    });
    this.#seconds = metrics.histogram({
      name: 'kubelet_http_requests_duration_seconds',
      help: 'Duration in seconds to serve http requests',
      labels: LABELS,
    });
    this.#inFlight = metrics.gauge({
      name: 'kubelet_http_inflight_requests',
      help: 'Number of the inflight http requests',
      labels: LABELS,
    });
  }

  /**
   * Counts the start of a request. The returned function counts the end of the request.
   * @param path the name of the endpoint, or `other` for unknown paths, so that clients cannot create labels
   */
  begin(method: string, path: string, serverType: string, isLongRunning = false): () => void {
    const labels: Labels<RequestLabel> = {
      method: METHODS.has(method) ? method : 'other',
      path,
      server_type: serverType,
      long_running: String(isLongRunning),
    };
    const startedMs = this.#clock.monotonic();
    this.#total.inc(labels);
    this.#change(labels, 1);
    return () => {
      this.#change(labels, -1);
      this.#seconds.observe(labels, (this.#clock.monotonic() - startedMs) / 1000);
    };
  }

  #change(labels: Labels<RequestLabel>, by: number): void {
    const key = JSON.stringify(Object.values(labels));
    const count = (this.#underWay.get(key) ?? 0) + by;
    this.#underWay.set(key, count);
    this.#inFlight.set(labels, count);
  }
}
