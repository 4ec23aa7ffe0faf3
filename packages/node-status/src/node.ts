import type {
  V1ContainerImage,
  V1Lease,
  V1Node,
  V1NodeAddress,
  V1NodeCondition,
  V1NodeStatus,
  V1NodeSystemInfo,
  V1Taint,
} from '@kubernetes/client-node';
import type { Wire } from '@node-agent/pod-spec';

type Object<T extends { readonly metadata?: unknown }> = Wire<T> & {
  readonly metadata: NonNullable<Wire<T>['metadata']>;
};

/** A node as its JSON is on the wire. */
export type Node = Object<V1Node>;

/** A lease as its JSON is on the wire. */
export type Lease = Object<V1Lease>;

export type NodeStatus = Wire<V1NodeStatus>;
export type NodeSystemInfo = Wire<V1NodeSystemInfo>;
export type NodeCondition = Wire<V1NodeCondition>;
export type NodeAddress = Wire<V1NodeAddress>;
export type ContainerImage = Wire<V1ContainerImage>;

/** A taint that a node is registered with. */
export type Taint = Wire<V1Taint>;

/** The node with another status. */
export function withStatus(node: Node, status: Partial<NodeStatus>): Node {
  return { ...node, status: { ...node.status, ...status } };
}

/** The node's condition of a type, where it has one. */
export function conditionOf(node: Node, type: string): NodeCondition | undefined {
  return node.status?.conditions?.find((condition) => condition.type === type);
}
