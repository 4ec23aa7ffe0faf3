import type { Clock } from '@node-agent/async';
import type { Pod, PodStatus } from '@node-agent/pod-spec';
import type { Admissions } from '../admit/admissions.ts';
import type { PodFailure, PodManagerPort, PodWorkersPort, StatusPort } from '../ports.ts';
import { timeOf } from './api-time.ts';

/** Failure of a pod that has exceeded `spec.activeDeadlineSeconds` (`pkg/kubelet/active_deadline.go`). */
export const DEADLINE_EXCEEDED: PodFailure = {
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
};

/**
 * Returns whether the pod has exceeded its active deadline, counted from the start time in its status.
 * @param nowMs the wall clock
 */
export function pastActiveDeadline(pod: Pod, status: PodStatus | undefined, nowMs: number): boolean {
  const seconds = pod.spec.activeDeadlineSeconds;
  // Without a start time, the comparison is with NaN and therefore false.
  return seconds !== undefined && nowMs - timeOf((status ?? pod.status)?.startTime) >= seconds * 1000;
}

interface DeadlineComponents {
  readonly podManager: Pick<PodManagerPort, 'getPods'>;
  readonly status: Pick<StatusPort, 'getPodStatus'>;
  readonly workers: Pick<PodWorkersPort, 'isPodTerminationRequested'>;
  readonly admissions: Pick<Admissions, 'isUndecided'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** Returns the pods that have exceeded their active deadline and are not terminating yet. */
export function podsPastDeadline({
  podManager,
  status,
  workers,
  admissions,
  clock,
}: DeadlineComponents): readonly Pod[] {
  return podManager.getPods().filter((pod) => {
    // Almost no pod has a deadline. The check for expired deadlines runs every second and must be cheap for pods
    // without a deadline.
    if (pod.spec.activeDeadlineSeconds === undefined) return false;
    const { uid } = pod.metadata;
    if (admissions.isUndecided(uid) || workers.isPodTerminationRequested(uid)) return false;
    return pastActiveDeadline(pod, status.getPodStatus(uid), clock.now());
  });
}
