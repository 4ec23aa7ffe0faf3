import type { Counter, Histogram, Metrics } from '@node-agent/telemetry';
import { kindName, type ProbeKind } from './types.ts';

type DurationLabels = 'probe_type' | 'container' | 'pod' | 'namespace';
type TotalLabels = DurationLabels | 'result' | 'pod_uid';

/** Identity of a probe in the metrics. */
export interface ProbeLabels {
  readonly kind: ProbeKind;
  readonly container: string;
  readonly pod: string;
  readonly namespace: string;
  readonly podUid: string;
}

/** Labels of the metrics of one probe. */
export interface ProbeSeries {
  readonly durations: Record<DurationLabels, string>;
  readonly success: Record<TotalLabels, string>;
  readonly failure: Record<TotalLabels, string>;
}

/** Metrics of upstream's `/metrics/probes`. The registry of these metrics is not the registry of `/metrics`. */
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

  /** Creates the labels of a probe; done once, because they are used for every attempt. */
  series({ kind, container, pod, namespace, podUid }: ProbeLabels): ProbeSeries {
    const durations = { probe_type: kindName(kind), container, pod, namespace };
    const total = (result: string) => ({ ...durations, pod_uid: podUid, result });
    return { durations, success: total('successful'), failure: total('failed') };
  }

  /**
   * Counts an attempt.
   * @param durationMs recorded for successes only, as upstream does
   */
  probed(series: ProbeSeries, result: 'success' | 'failure', durationMs: number): void {
    this.#total.inc(series[result]);
    if (result === 'success') this.#duration.observe(series.durations, durationMs / 1000);
  }

  /** Removes the series of a probe that has ended (K4). */
  ended({ durations, success, failure }: ProbeSeries): void {
    this.#total.remove?.(success);
    this.#total.remove?.(failure);
    this.#duration.remove?.(durations);
  }
}
