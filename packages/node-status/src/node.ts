import type { Node, NodeCondition, NodeStatus } from '@node-agent/pod-spec/api';

export type {
  ContainerImage,
  Lease,
  Node,
  NodeAddress,
  NodeCondition,
  NodeStatus,
  NodeSystemInfo,
  Taint,
} from '@node-agent/pod-spec/api';

/** The node with another status. */
export function withStatus(node: Node, status: Partial<NodeStatus>): Node {
  return { ...node, status: { ...node.status, ...status } };
}

/** The node's condition of a type, where it has one. */
export function conditionOf(node: Node, type: string): NodeCondition | undefined {
  return node.status?.conditions?.find((condition) => condition.type === type);
}
