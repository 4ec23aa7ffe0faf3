import type { Container, Pod } from '@node-agent/pod-spec';
import type { KillReason } from '../actions/pod-actions.ts';

/** Minimum time for every container to shut down, whatever its grace period and however much of it a hook used (C5). */
export const MINIMUM_GRACE_PERIOD_SECONDS = 2;

/**
 * Returns a container's grace period: the deletion grace period of the pod, else that of the failed probe, else that of
 * the pod's spec, else 2 s (`setTerminationGracePeriod` in `pkg/kubelet/kuberuntime/kuberuntime_container.go`).
 */
export function terminationGracePeriodSeconds(pod: Pod, container: Container, reason: KillReason): number {
  const deletion = pod.metadata.deletionGracePeriodSeconds;
  if (deletion != null) return deletion;
  const spec = pod.spec.terminationGracePeriodSeconds;
  if (spec == null) return MINIMUM_GRACE_PERIOD_SECONDS;
  const probe =
    reason === 'StartupProbe'
      ? container.startupProbe
      : reason === 'LivenessProbe'
        ? container.livenessProbe
        : undefined;
  return probe?.terminationGracePeriodSeconds ?? spec;
}

/**
 * Returns the timeout for StopContainer from the rest of a grace period: whole seconds, rounded up, and at least the
 * minimum. Clock differences of less than a millisecond are not rounded up to a second.
 */
export function stopTimeoutSeconds(leftMs: number): number {
  return Math.max(Math.ceil(Math.round(leftMs) / 1000), MINIMUM_GRACE_PERIOD_SECONDS);
}
