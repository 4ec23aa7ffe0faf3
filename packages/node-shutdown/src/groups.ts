import type { Pod } from '@node-agent/pod-spec';
import type { PriorityGracePeriod } from './grace-periods.ts';

/** Pods that end together. */
export interface ShutdownGroup extends PriorityGracePeriod {
  readonly pods: readonly Pod[];
}

/**
 * Which pods end together, the lowest priorities first; groups without pods are among them. A pod belongs to the highest period
 * that its priority reaches, and to the lowest one where it reaches none. Without a priority it has 0. Of periods of one priority
 * the first has the pods of exactly that priority, and the last those above it.
 * @param periods from the lowest priority up @see `groupByPriority` of `pkg/kubelet/nodeshutdown/nodeshutdown_manager.go`
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

/** How long a pod gets, in seconds: no more than its group has, and no more than it asks for itself. */
export function gracePeriodSeconds(pod: Pod, group: PriorityGracePeriod): number {
  const { terminationGracePeriodSeconds: own } = pod.spec;
  return Math.min(own ?? group.shutdownGracePeriodSeconds, group.shutdownGracePeriodSeconds);
}
