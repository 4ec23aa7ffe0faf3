import type { Gauge, Histogram, Labels, Metrics } from '@node-agent/telemetry';

/** Metrics of dynamic resource allocation, with upstream's names (`pkg/kubelet/metrics/metrics.go`). */
export interface DraMetrics {
  readonly operationSeconds: Histogram<'operation_name' | 'is_error'>;
  readonly rpcs: RpcMetrics;
  readonly claimsInUse: Gauge<'driver_name'>;
}

type RpcLabel = 'driver_name' | 'method_name' | 'grpc_status_code';

/** Metric of the durations of driver calls. */
export class RpcMetrics {
  readonly #seconds: Histogram<RpcLabel>;
  /** Labels of the series of each driver, by method and code. */
  readonly #series = new Map<string, Map<string, Labels<RpcLabel>>>();

  constructor(seconds: Histogram<RpcLabel>) {
    this.#seconds = seconds;
  }

  /** @param method path of the RPC @param code name of the status code, as in Go */
  observe(driver: string, method: string, code: string, seconds: number): void {
    const labels = { driver_name: driver, method_name: method, grpc_status_code: code };
    const series = this.#series.get(driver) ?? new Map();
    this.#series.set(driver, series.set(`${method} ${code}`, labels));
    this.#seconds.observe(labels, seconds);
  }

  /** Removes the series of a driver that has no plugins any more (K4). */
  forget(driver: string): void {
    for (const labels of this.#series.get(driver)?.values() ?? []) this.#seconds.remove?.(labels);
    this.#series.delete(driver);
  }
}

/**
 * `DRADurationBuckets`: 15 buckets from 0.1 s to 40 s, each larger than the one before by the same factor, as Go
 * computes them. The bounds must be computed exactly as in Go, because scrapers compare bounds as text.
 */
const BUCKETS = [
  0.1, 0.1534127404634391, 0.23535468936502524, 0.36106407876409946, 0.5539182980610752, 0.849781240983936,
  1.303672689737678, 1.9999999999999993, 3.0682548092687805, 4.7070937873005025, 7.221281575281985, 11.078365961221499,
  16.995624819678714, 26.07345379475354, 39.99999999999997,
];

export function draMetrics(metrics: Metrics): DraMetrics {
  return {
    operationSeconds: metrics.histogram({
      name: 'dra_operations_duration_seconds',
      help: "Latency histogram in seconds for the duration of handling all ResourceClaims referenced by a pod when the pod starts or stops. Identified by the name of the operation (PrepareResources or UnprepareResources) and separated by the success of the operation. The number of failed operations is provided through the histogram's overall count.",
      labels: ['operation_name', 'is_error'],
      buckets: BUCKETS,
    }),
    rpcs: new RpcMetrics(
      metrics.histogram({
        name: 'dra_grpc_operations_duration_seconds',
        help: 'Duration in seconds of the DRA gRPC operations',
        labels: ['driver_name', 'method_name', 'grpc_status_code'],
        buckets: BUCKETS,
      }),
    ),
    claimsInUse: metrics.gauge({
      name: 'dra_resource_claims_in_use',
      help: 'The number of ResourceClaims that are currently in use on the node, by driver name (driver_name label value) and across all drivers (special value <any> for driver_name). Note that the sum of all by-driver counts is not the total number of in-use ResourceClaims because the same ResourceClaim might use devices from different drivers. Instead, use the count for the <any> driver_name.',
      labels: ['driver_name'],
    }),
  };
}
