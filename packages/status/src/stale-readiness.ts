import type { Pod, PodPhase } from '@node-agent/pod-spec';
import { readyConditions } from './conditions.ts';

/**
 * Returns whether the Ready condition of a pod in the API differs from the one that follows from its containers and
 * other conditions, because another client changed a readiness gate (`NeedToReconcilePodReadiness` in
 * `pkg/kubelet/status/status_manager.go`).
 */
export function isReadinessStale(pod: Pod): boolean {
  const { readinessGates = [] } = pod.spec;
  const { phase = 'Unknown', conditions = [], containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  const shown = conditions.find(({ type }) => type === 'Ready');
  if (readinessGates.length === 0 || shown === undefined) return false;
  const statuses = [...initContainerStatuses, ...containerStatuses];
  const [due] = readyConditions({ pod, phase: phase as PodPhase, statuses, otherConditions: conditions });
  return due?.status !== shown.status || (due.message ?? '') !== (shown.message ?? '');
}
