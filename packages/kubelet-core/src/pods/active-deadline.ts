import type { Pod, PodStatus } from '@node-agent/pod-spec';
import type { PodFailure } from '../ports.ts';
import { timeOf } from './api-time.ts';

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
  // Without a start time there is no number to compare with.
  return seconds !== undefined && nowMs - timeOf((status ?? pod.status)?.startTime) >= seconds * 1000;
}
