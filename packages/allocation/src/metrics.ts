import type { Counter, Gauge, Metrics } from '@node-agent/telemetry';
import type { ResizeConditions } from './resize-conditions.ts';

/** Metrics of this package, with upstream's names (`pkg/kubelet/metrics/metrics.go`). */
export interface AllocationMetrics {
  readonly requested: Counter<'resource' | 'requirement' | 'operation'>;
  readonly infeasible: Counter<'reason_detail'>;
  readonly acceptedLate: Counter<'retry_trigger'>;
  readonly pending: Gauge<'reason'>;
  readonly inProgress: Gauge;
}

export function makeAllocationMetrics(metrics: Metrics): AllocationMetrics {
  return {
    requested: metrics.counter({
      name: 'kubelet_container_requested_resizes_total',
      help: 'Requested resizes, counted per resource and container.',
      labels: ['resource', 'requirement', 'operation'],
    }),
    infeasible: metrics.counter({
      name: 'kubelet_pod_infeasible_resizes_total',
      help: 'Resizes that are infeasible on this node.',
      labels: ['reason_detail'],
    }),
    acceptedLate: metrics.counter({
      name: 'kubelet_pod_deferred_accepted_resizes_total',
      help: 'Resizes that were accepted after having been deferred.',
      labels: ['retry_trigger'],
    }),
    pending: metrics.gauge({
      name: 'kubelet_pod_pending_resizes',
      help: 'Pods with a pending resize, by reason.',
      labels: ['reason'],
    }),
    inProgress: metrics.gauge({
      name: 'kubelet_pod_in_progress_resizes',
      help: 'Pods with a resize in progress.',
    }),
  };
}

export function countConditions(metrics: AllocationMetrics, all: Iterable<ResizeConditions>): void {
  const pending = { deferred: 0, infeasible: 0 };
  let inProgress = 0;
  for (const conditions of all) {
    if (conditions.pending?.reason === 'Infeasible') pending.infeasible++;
    else if (conditions.pending !== undefined) pending.deferred++;
    if (conditions.inProgress !== undefined) inProgress++;
  }
  metrics.pending.set({ reason: 'deferred' }, pending.deferred);
  metrics.pending.set({ reason: 'infeasible' }, pending.infeasible);
  metrics.inProgress.set({}, inProgress);
}
