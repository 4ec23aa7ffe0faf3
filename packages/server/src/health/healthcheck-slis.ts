import { MetricsRegistry } from '@node-agent/telemetry';
import type { HealthCheck } from './healthz.ts';

/**
 * The results of health checks for `/metrics/slis` (KEP-3466; `k8s.io/component-base/metrics/prometheus/slis`). Only
 * requests for all checks are counted. All servers of a node share one instance.
 */
export class HealthcheckSlis {
  readonly #startedAtMs: number;
  #registry = new MetricsRegistry();

  /** @param startedAtMs when the process started, in milliseconds since the Unix epoch */
  constructor(startedAtMs: number) {
    this.#startedAtMs = startedAtMs;
  }

  /** Returns wrappers of health checks that also count each result. */
  watching(checks: readonly HealthCheck[]): readonly HealthCheck[] {
    return checks.map((check) => ({
      name: check.name,
      check: () => {
        let problem: string | undefined = 'it fell over';
        try {
          problem = check.check();
          return problem;
        } finally {
          this.#observe(check.name, problem === undefined);
        }
      },
    }));
  }

  #observe(name: string, isWell: boolean): void {
    const labels = { name, type: 'healthz' };
    this.#registry
      .gauge({
        name: 'kubernetes_healthcheck',
        help: '[STABLE] This metric records the result of a single healthcheck.',
        labels: ['name', 'type'],
      })
      .set(labels, isWell ? 1 : 0);
    this.#registry
      .counter({
        name: 'kubernetes_healthchecks_total',
        help: '[STABLE] This metric records the results of all healthcheck.',
        labels: ['name', 'status', 'type'],
      })
      .inc({ ...labels, status: isWell ? 'success' : 'error' });
  }

  /** Returns the results of the health checks in Prometheus' text format 0.0.4. */
  text(): string {
    this.#registry
      .gauge({
        name: 'process_start_time_seconds',
        help: '[ALPHA] Start time of the process since unix epoch in seconds.',
      })
      .set({}, this.#startedAtMs / 1000);
    return this.#registry.text();
  }

  /** Resets all counts. Called for a DELETE request of `/metrics/slis`. */
  reset(): void {
    this.#registry = new MetricsRegistry();
  }
}
