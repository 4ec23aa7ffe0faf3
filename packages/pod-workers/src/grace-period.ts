import type { Pod } from '@node-agent/pod-spec';

/**
 * The grace period that is in force after a kill, in seconds: the shortest of what was in force, what the API server says
 * and what the kill asks for; the pod's own wish where none of these says anything; never under 1.
 * Source: `calculateEffectiveGracePeriod` of `pkg/kubelet/pod_workers.go`.
 * @param current what was in force; `undefined` where the pod was not terminating
 * @param pod `undefined` for a pod that only the runtime knows
 */
export function effectiveGracePeriodSeconds(
  current: number | undefined,
  pod: Pod | undefined,
  override: number | undefined,
): number {
  const asked = [current, pod?.metadata.deletionGracePeriodSeconds, override].filter((s) => s !== undefined);
  const seconds = asked.length > 0 ? Math.min(...asked) : (pod?.spec.terminationGracePeriodSeconds ?? 1);
  return Math.max(1, seconds);
}

/**
 * Returns how much of a deletion's grace period is left, in whole seconds, rounded up; at least 0. The API server sets `deletionTimestamp` to the
 * end of the grace period, so a kubelet that starts while the pod terminates does not begin the period again. Upstream does.
 * @param nowMs the wall clock
 * @returns `undefined` if the pod is not deleted, or its `deletionTimestamp` is not a time
 */
export function deletionSecondsLeft({ metadata: { deletionTimestamp } }: Pod, nowMs: number): number | undefined {
  const leftMs = Date.parse(deletionTimestamp ?? '') - nowMs;
  return Number.isNaN(leftMs) ? undefined : Math.max(0, Math.ceil(leftMs / 1000));
}
