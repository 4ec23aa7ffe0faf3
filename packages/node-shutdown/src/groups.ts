import type { Pod } from '@node-agent/pod-spec';
import type { PriorityGracePeriod } from './grace-periods.ts';

/** A group of pods that are terminated together. */
export interface ShutdownGroup extends PriorityGracePeriod {
  readonly pods: readonly Pod[];
}

/**
 * Groups the pods by grace period, lowest priority first; groups without pods are included. A pod belongs to the
 * highest period whose priority it reaches, or to the lowest period if it reaches none. A pod without a priority has
 * priority 0. If several periods have the same priority, the first gets the pods of exactly that priority, and the last
 * those above it.
 * @param periods sorted by priority, lowest first @see `groupByPriority` of
 * `pkg/kubelet/nodeshutdown/nodeshutdown_manager.go`
 */
export function groupByPriority(
  periods: readonly PriorityGracePeriod[],
  pods: readonly Pod[],
): readonly ShutdownGroup[] {
  const groups = periods.map((period) => ({ ...period, pods: [] as Pod[] }));
  for (const pod of pods) groups[groupIndex(periods, pod.spec.priority ?? 0)]?.pods.push(pod);
  return groups;
}

function groupIndex(periods: readonly PriorityGracePeriod[], priority: number): number {
  const reached = periods.findIndex((period) => period.priority >= priority);
  if (reached === -1) return periods.length - 1;
  return reached > 0 && periods[reached]?.priority !== priority ? reached - 1 : reached;
}

/** Returns a pod's grace period in seconds: the minimum of the group's and the pod's own. */
export function gracePeriodSeconds(pod: Pod, group: PriorityGracePeriod): number {
  const { terminationGracePeriodSeconds: own } = pod.spec;
  return Math.min(own ?? group.shutdownGracePeriodSeconds, group.shutdownGracePeriodSeconds);
}
