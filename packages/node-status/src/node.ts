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

/** Returns the node with changed status fields. */
export function withStatus(node: Node, status: Partial<NodeStatus>): Node {
  return { ...node, status: { ...node.status, ...status } };
}

/** Returns the node's condition of a type, or `undefined`. */
export function conditionOf(node: Node, type: string): NodeCondition | undefined {
  return node.status?.conditions?.find((condition) => condition.type === type);
}
