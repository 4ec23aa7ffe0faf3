import type { Counter, Histogram, Metrics } from '@node-agent/telemetry';
import { kindName, type ProbeKind } from './types.ts';

type DurationLabels = 'probe_type' | 'container' | 'pod' | 'namespace';
type TotalLabels = DurationLabels | 'result' | 'pod_uid';

/** Whose probe is counted. */
export interface ProbeLabels {
  readonly kind: ProbeKind;
  readonly container: string;
  readonly pod: string;
  readonly namespace: string;
  readonly podUid: string;
}

const RESULTS = { success: 'successful', failure: 'failed' } as const;

/** The metrics of upstream's `/metrics/probes`: a registry of their own belongs behind them. */
export class ProberMetrics {
  readonly #total: Counter<TotalLabels>;
  readonly #duration: Histogram<DurationLabels>;

  constructor(metrics: Metrics) {
    this.#total = metrics.counter({
      name: 'prober_probe_total',
      help: 'Cumulative number of a liveness, readiness or startup probe for a container by result.',
      labels: ['container', 'namespace', 'pod', 'pod_uid', 'probe_type', 'result'],
    });
    this.#duration = metrics.histogram({
      name: 'prober_probe_duration_seconds',
      help: 'Duration in seconds for a probe response.',
      labels: ['container', 'namespace', 'pod', 'probe_type'],
    });
  }

  /** @param durationMs told of successes alone, as upstream does */
  probed(labels: ProbeLabels, result: 'success' | 'failure', durationMs: number): void {
    const common = commonOf(labels);
    this.#total.inc({ ...common, pod_uid: labels.podUid, result: RESULTS[result] });
    if (result === 'success') this.#duration.observe(common, durationMs / 1000);
  }

  /** Forgets the series of a probe that has ended (K4). */
  ended(labels: ProbeLabels): void {
    const common = commonOf(labels);
    for (const result of Object.values(RESULTS)) this.#total.remove?.({ ...common, pod_uid: labels.podUid, result });
    this.#duration.remove?.(common);
  }
}

function commonOf({ kind, container, pod, namespace }: ProbeLabels): Record<DurationLabels, string> {
  return { probe_type: kindName(kind), container, pod, namespace };
}
