import type { Pod } from '@node-agent/pod-spec';

/**
 * Returns the effective grace period after a kill, in seconds: the shortest of the current grace period, the API
 * server's `deletionGracePeriodSeconds` and the override of the kill. If all three are absent, the pod's
 * `terminationGracePeriodSeconds` applies. The result is at least 1. Upstream: `calculateEffectiveGracePeriod` in
 * `pkg/kubelet/pod_workers.go`.
 * @param current grace period in force so far; `undefined` if the pod was not terminating
 * @param pod `undefined` for a pod that only the runtime knows
 */
export function effectiveGracePeriodSeconds(
  current: number | undefined,
  pod: Pod | undefined,
  override: number | undefined,
): number {
  const requested = [current, pod?.metadata.deletionGracePeriodSeconds, override].filter((s) => s !== undefined);
  const seconds = requested.length > 0 ? Math.min(...requested) : (pod?.spec.terminationGracePeriodSeconds ?? 1);
  return Math.max(1, seconds);
}

/**
 * Returns how much of a deletion's grace period is left, in whole seconds, rounded up; at least 0. The API server sets
 * `deletionTimestamp` to the end of the grace period, so a kubelet that starts while the pod terminates does not
 * restart the period. The Go kubelet restarts the period.
 * @param nowMs the wall clock
 * @returns `undefined` if the pod is not deleted, or its `deletionTimestamp` is not a time
 */
export function deletionSecondsLeft({ metadata: { deletionTimestamp } }: Pod, nowMs: number): number | undefined {
  const leftMs = Date.parse(deletionTimestamp ?? '') - nowMs;
  return Number.isNaN(leftMs) ? undefined : Math.max(0, Math.ceil(leftMs / 1000));
}
