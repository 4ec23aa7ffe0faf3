import type { Pod, PodCondition, PodStatus } from '@node-agent/pod-spec';
import { EVICTED } from './messages.ts';

/**
 * What an eviction makes of a pod's status: it has failed, and why; one for a lack of resources is a disruption too (KEP-3329), one for
 * the pod's own limits is none.
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

/** In the place of the one before it, whose time stays where its status is the same. */
function withCondition(conditions: readonly PodCondition[], condition: PodCondition): PodCondition[] {
  const before = conditions.find(({ type }) => type === condition.type);
  if (before === undefined) return [...conditions, condition];
  const lastTransitionTime = before.status === condition.status ? before.lastTransitionTime : undefined;
  const after = { ...condition, ...(lastTransitionTime != null && { lastTransitionTime }) };
  return conditions.map((one) => (one === before ? after : one));
}
