import { apiTime } from './api-time.ts';
import { conditionOf, type Node, type NodeCondition, withStatus } from './node.ts';

/** What a condition says now, without its times. */
export interface ConditionVerdict {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

/**
 * The node with a condition of this kind: its heartbeat is now, its transition too where its status is another than before. A new
 * condition comes last; those of others are kept as they are.
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
