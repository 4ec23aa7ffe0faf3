import type { Pod, PodCondition, PodStatus } from '@node-agent/pod-spec';
import { EVICTED } from './messages.ts';

/**
 * Returns the function that changes an evicted pod's status to phase `Failed`, with the reason. An eviction for a node
 * shortage also sets the condition `DisruptionTarget` (KEP-3329); an eviction for the pod's own storage limit does not.
 */
export function evictedStatus(pod: Pod, message: string, isDisruption: boolean): (status: PodStatus) => PodStatus {
  const { generation } = pod.metadata;
  const condition: PodCondition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'TerminationByKubelet',
    message,
    ...(generation !== undefined && { observedGeneration: generation }),
  };
  return (status) => ({
    ...status,
    phase: 'Failed',
    reason: EVICTED,
    message,
    ...(isDisruption && { conditions: withCondition(status.conditions ?? [], condition) }),
  });
}

/** Replaces the condition of the same type; the transition time is kept if the condition's status is unchanged. */
function withCondition(conditions: readonly PodCondition[], condition: PodCondition): PodCondition[] {
  const before = conditions.find(({ type }) => type === condition.type);
  if (before === undefined) return [...conditions, condition];
  const lastTransitionTime = before.status === condition.status ? before.lastTransitionTime : undefined;
  const after = { ...condition, ...(lastTransitionTime != null && { lastTransitionTime }) };
  return conditions.map((one) => (one === before ? after : one));
}
