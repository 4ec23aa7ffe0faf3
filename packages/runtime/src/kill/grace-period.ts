import type { Container, Pod } from '@node-agent/pod-spec';
import type { KillReason } from '../actions/pod-actions.ts';

/** Every container gets so long to shut down, whatever its grace period and however much of it a hook took (C5). */
export const MINIMUM_GRACE_PERIOD_SECONDS = 2;

/**
 * How long a container may take to stop: what the pod's deletion says, else what the failed probe says, else what the
 * pod says, else 2 s (`setTerminationGracePeriod` in `pkg/kubelet/kuberuntime/kuberuntime_container.go`).
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
 * What StopContainer is given of what is left of a grace period: whole seconds, rounded up, and never under the minimum. The difference of
 * two readings of a clock is off by less than a millisecond: that is no second.
 */
export function stopTimeoutSeconds(leftMs: number): number {
  return Math.max(Math.ceil(Math.round(leftMs) / 1000), MINIMUM_GRACE_PERIOD_SECONDS);
}
