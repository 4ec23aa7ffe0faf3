import { apiMicroTime } from './api-time.ts';
import type { Lease } from './node.ts';

/** The namespace of node leases. */
export const NODE_LEASE_NAMESPACE = 'kube-node-lease';

/** The content of a node's lease. */
export interface LeaseContent {
  readonly nodeName: string;
  readonly durationSeconds: number;
  /**
   * The UID of the node that owns the lease. When the node is deleted, the garbage collector deletes the lease. The UID
   * is `undefined` if it is not known yet.
   */
  readonly nodeUid: string | undefined;
}

/** Returns the lease to create for a node without a lease (`lease/controller.go`, newLease). */
export function newLease({ nodeName, durationSeconds, nodeUid }: LeaseContent, nowMs: number): Lease {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      name: nodeName,
      namespace: NODE_LEASE_NAMESPACE,
      ...(nodeUid !== undefined && { ownerReferences: [owner(nodeName, nodeUid)] }),
    },
    spec: { holderIdentity: nodeName, leaseDurationSeconds: durationSeconds, renewTime: apiMicroTime(nowMs) },
  };
}

/**
 * Returns a renewed lease: with this kubelet's duration, and with the node as owner if the lease has no owner. Other
 * fields are kept.
 */
export function renewedLease(lease: Lease, { nodeName, durationSeconds, nodeUid }: LeaseContent, nowMs: number): Lease {
  const ownerless = (lease.metadata.ownerReferences ?? []).length === 0;
  return {
    ...lease,
    metadata: {
      ...lease.metadata,
      ...(ownerless && nodeUid !== undefined && { ownerReferences: [owner(nodeName, nodeUid)] }),
    },
    spec: { ...lease.spec, leaseDurationSeconds: durationSeconds, renewTime: apiMicroTime(nowMs) },
  };
}

function owner(name: string, uid: string): NonNullable<Lease['metadata']['ownerReferences']>[number] {
  return { apiVersion: 'v1', kind: 'Node', name, uid };
}
