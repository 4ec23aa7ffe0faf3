import type { Pod, PodPhase } from '@node-agent/pod-spec';
import { readyConditions } from './conditions.ts';

/**
 * Whether the API shows another condition Ready of a pod than follows from the containers and conditions that it shows beside it: a readiness gate
 * has changed, which others set (`NeedToReconcilePodReadiness`, `pkg/kubelet/status/status_manager.go`).
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
