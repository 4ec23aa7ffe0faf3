import type { Pod, PodSource } from '@node-agent/pod-spec';

/**
 * What a {@link PodUpdate} says of its pods, with upstream's meanings (`pkg/kubelet/types/pod_update.go`):
 * - `ADD`: new to this source. An `ADD` of no pods says that the source has spoken for the first time and has none.
 * - `UPDATE`: spec, labels, annotations or deletion fields changed.
 * - `DELETE`: changed, and the pod is to be deleted gracefully (`metadata.deletionTimestamp` is set).
 * - `REMOVE`: gone from this source.
 * - `RECONCILE`: nothing but the status changed in the source; the kubelet's own status is the truth.
 * - `SET`: all pods of all sources (only where the mode asks for snapshots).
 */
export type PodOperation = 'ADD' | 'UPDATE' | 'DELETE' | 'REMOVE' | 'RECONCILE' | 'SET';

/** One change of what this node should run. The pods are values: nobody may change them. */
export interface PodUpdate {
  readonly op: PodOperation;
  /** The source whose word this is; of a `SET`, the source that gave rise to it. */
  readonly source: PodSource;
  readonly pods: readonly Pod[];
}
