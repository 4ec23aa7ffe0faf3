import type { Pod, PodSource } from '@node-agent/pod-spec';

/**
 * Meaning of a {@link PodUpdate} for its pods, as in `pkg/kubelet/types/pod_update.go`:
 * - `ADD`: the pods are new to this source. An `ADD` without pods means that the source has reported for the first time and
 * has no pods.
 * - `UPDATE`: spec, labels, annotations or deletion fields changed.
 * - `DELETE`: the pods changed and are deleted gracefully (`metadata.deletionTimestamp` is set).
 * - `REMOVE`: this source no longer has the pods.
 * - `RECONCILE`: only the status changed in the source. The status that the kubelet has determined is kept.
 * - `SET`: all pods of all sources (only if the mode asks for snapshots).
 */
export type PodOperation = 'ADD' | 'UPDATE' | 'DELETE' | 'REMOVE' | 'RECONCILE' | 'SET';

/** One change of the pods that this node should run. The pods are values: no consumer may change them. */
export interface PodUpdate {
  readonly op: PodOperation;
  /** The source that reported the change. For a `SET`, the source that caused it. */
  readonly source: PodSource;
  readonly pods: readonly Pod[];
}
