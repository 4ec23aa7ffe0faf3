import type { Pod, PodCondition, PodStatus } from '@node-agent/pod-spec';

const REASON = 'Terminated';
const MESSAGE = 'Pod was terminated in response to imminent node shutdown.';

/**
 * Returns the function that changes a pod's status because of a node shutdown: phase `Failed`, unless it had succeeded,
 * and the condition `DisruptionTarget` (KEP-2000, KEP-3329).
 */
export function terminatedStatus(pod: Pod): (status: PodStatus) => PodStatus {
  const { generation } = pod.metadata;
  const condition: PodCondition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'TerminationByKubelet',
    message: MESSAGE,
    ...(generation !== undefined && { observedGeneration: generation }),
  };
  return (status) => ({
    ...status,
    phase: status.phase === 'Succeeded' ? 'Succeeded' : 'Failed',
    reason: REASON,
    message: MESSAGE,
    conditions: withCondition(status.conditions ?? [], condition),
  });
}

/**
 * Returns the conditions with the condition of the same type replaced. The transition time is kept if the condition's
 * status is unchanged.
 */
function withCondition(conditions: readonly PodCondition[], condition: PodCondition): PodCondition[] {
  const before = conditions.find(({ type }) => type === condition.type);
  if (before === undefined) return [...conditions, condition];
  const time = before.status === condition.status ? before.lastTransitionTime : undefined;
  const after = { ...condition, ...(time != null && { lastTransitionTime: time }) };
  return conditions.map((one) => (one === before ? after : one));
}
