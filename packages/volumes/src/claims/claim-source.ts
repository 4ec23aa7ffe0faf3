import type { PersistentVolume, PersistentVolumeClaim } from '@node-agent/pod-spec/api';

/** The part of a v1 PersistentVolumeClaim that volumes need. */
export type ClaimData = Pick<PersistentVolumeClaim, 'metadata' | 'spec' | 'status'>;

/** The part of a v1 PersistentVolume that volumes need. */
export type PersistentVolumeData = Pick<PersistentVolume, 'metadata' | 'spec'>;

/**
 * Port to PVCs and the persistent volumes that they are bound to. The NodeAuthorizer lets a node get the objects of its
 * own pods one by one, but not list or watch them. The methods resolve to `undefined` if the object does not exist.
 */
export interface ClaimSource {
  getClaim(namespace: string, name: string, signal: AbortSignal): Promise<ClaimData | undefined>;
  getPersistentVolume(name: string, signal: AbortSignal): Promise<PersistentVolumeData | undefined>;
  /**
   * Applies a merge patch to a PVC's status and returns the PVC. If absent, volumes are not expanded on this node.
   */
  patchClaimStatus?(namespace: string, name: string, patch: object, signal: AbortSignal): Promise<ClaimData>;
  /** Returns the labels of the node, which a persistent volume's node affinity may match. */
  nodeLabels(): Readonly<Record<string, string>>;
}
