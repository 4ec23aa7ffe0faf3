import { apiTime } from './api-time.ts';
import { conditionOf, type Node, type NodeCondition, withStatus } from './node.ts';

/** The new state of a condition, without its times. */
export interface ConditionVerdict {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

/**
 * Sets a condition of a node. Its heartbeat time is updated always, its transition time only if the status changed. A
 * new condition is added at the end; other conditions are kept.
 */
export function setCondition(node: Node, verdict: ConditionVerdict, nowMs: number): Node {
  const now = apiTime(nowMs);
  const before = conditionOf(node, verdict.type);
  const lastTransitionTime = before?.status === verdict.status ? before.lastTransitionTime : now;
  const after: NodeCondition = {
    type: verdict.type,
    status: verdict.status,
    lastHeartbeatTime: now,
    ...(lastTransitionTime !== undefined && { lastTransitionTime }),
    reason: verdict.reason,
    message: verdict.message,
  };
  const conditions = node.status?.conditions ?? [];
  return withStatus(node, {
    conditions:
      before === undefined
        ? [...conditions, after]
        : conditions.map((condition) => (condition.type === verdict.type ? after : condition)),
  });
}
