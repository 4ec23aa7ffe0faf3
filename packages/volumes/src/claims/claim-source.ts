import type { PersistentVolume, PersistentVolumeClaim } from '@node-agent/pod-spec/api';

/** A v1 PersistentVolumeClaim, as far as volumes need it. */
export type ClaimData = Pick<PersistentVolumeClaim, 'metadata' | 'spec' | 'status'>;

/** A v1 PersistentVolume, as far as volumes need it. */
export type PersistentVolumeData = Pick<PersistentVolume, 'metadata' | 'spec'>;

/**
 * Claims of pods, and the persistent volumes that they are bound to. A node may read those of its own pods, one by one, and neither
 * list nor watch them (NodeAuthorizer). `undefined` is one that does not exist.
 */
export interface ClaimSource {
  getClaim(namespace: string, name: string, signal: AbortSignal): Promise<ClaimData | undefined>;
  getPersistentVolume(name: string, signal: AbortSignal): Promise<PersistentVolumeData | undefined>;
  /** Of the node, which persistent volumes may ask for. */
  nodeLabels(): Readonly<Record<string, string>>;
}
