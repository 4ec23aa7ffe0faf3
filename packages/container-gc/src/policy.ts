/** What dead containers are kept (`pkg/kubelet/container/container_gc.go`). */
export interface ContainerGcPolicy {
  /** How old a dead container must be before it goes; 0 by default. */
  readonly minAgeMs: number;
  /**
   * How many dead containers are kept for each container of a pod; 1 by default. Below 0: the periodic collection keeps all of them; one
   * is kept where one has just died, as upstream.
   */
  readonly maxPerPodContainer: number;
  /** How many dead containers are kept on the node; below 0: all of them. -1 by default. */
  readonly maxContainers: number;
}

/** Upstream's defaults. */
export const defaultPolicy: ContainerGcPolicy = { minAgeMs: 0, maxPerPodContainer: 1, maxContainers: -1 };

/** Who knows which pods are gone: the pod workers, never the pod manager (P5). */
export interface PodStateProvider {
  /** Whether nothing of the pod is needed once it has ended: it was deleted, evicted, or never was known here. */
  shouldPodContentBeRemoved(uid: string): boolean;
  /** Whether the pod has ended, so that nothing of it will run again, but its records may still be read. */
  shouldPodRuntimeBeRemoved(uid: string): boolean;
}

/** What the collection may assume and do. */
export interface GarbageCollectOptions {
  /** Whether every source of pods has reported: before that a pod that nobody knows may be one that runs here. */
  readonly allSourcesReady: boolean;
  /** Whether pods that have ended lose their containers, too: the node is short of disk. */
  readonly evictNonDeletedPods: boolean;
}

/**
 * Whether all that is dead of a pod may go. Upstream takes it from an evicted pod at once; here it stays until the pod has ended, as
 * the exit codes in its last status are read from it (S3).
 */
export function isRemovable(uid: string, pods: PodStateProvider, evictNonDeletedPods: boolean): boolean {
  return pods.shouldPodRuntimeBeRemoved(uid) && (evictNonDeletedPods || pods.shouldPodContentBeRemoved(uid));
}
