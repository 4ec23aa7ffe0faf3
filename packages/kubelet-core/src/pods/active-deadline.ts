import type { Pod, PodStatus } from '@node-agent/pod-spec';
import type { PodFailure } from '../ports.ts';
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
