import { apiMicroTime } from './api-time.ts';
import type { Lease } from './node.ts';

/** The namespace of nodes' leases. */
export const NODE_LEASE_NAMESPACE = 'kube-node-lease';

/** What a node's lease says. */
export interface LeaseContent {
  readonly nodeName: string;
  readonly durationSeconds: number;
  /** Of the node, whose going takes the lease along; `undefined` where it is not known yet. */
  readonly nodeUid: string | undefined;
}

/** A lease for a node that has none (`lease/controller.go`, newLease). */
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

/** The lease renewed: its duration is this kubelet's, its owner is added where it has none, all else is kept. */
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
