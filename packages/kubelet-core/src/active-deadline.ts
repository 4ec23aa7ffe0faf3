import type { Pod, PodStatus } from '@node-agent/pod-spec';
import type { PodFailure } from './ports.ts';

/** What a pod fails with when it has outlived `spec.activeDeadlineSeconds` (`pkg/kubelet/active_deadline.go`). */
export const DEADLINE_EXCEEDED: PodFailure = {
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
};

/**
 * Whether the pod has been active for longer than it may, counted from its status' start time.
 * @param nowMs the wall clock
 */
export function pastActiveDeadline(pod: Pod, status: PodStatus | undefined, nowMs: number): boolean {
  const seconds = pod.spec.activeDeadlineSeconds;
  const startTime = (status ?? pod.status)?.startTime;
  if (seconds === undefined || startTime === undefined) return false;
  const startMs = Date.parse(startTime);
  return Number.isFinite(startMs) && nowMs - startMs >= seconds * 1000;
}
