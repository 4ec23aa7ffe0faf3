/** Policy for keeping dead containers (`pkg/kubelet/container/container_gc.go`). */
export interface ContainerGcPolicy {
  /** Minimum age of a dead container before it is removed. Default: 0. */
  readonly minAgeMs: number;
  /**
   * Number of dead containers kept per container of a pod. Default: 1. If negative, the periodic collection keeps all
   * dead containers; the deletion after a container's exit keeps one dead container, as upstream.
   */
  readonly maxPerPodContainer: number;
  /** Number of dead containers kept on the node; if negative, all. Default: -1. */
  readonly maxContainers: number;
}

/** Upstream's defaults. */
export const defaultPolicy: ContainerGcPolicy = { minAgeMs: 0, maxPerPodContainer: 1, maxContainers: -1 };

/** Source of which pods have been removed: the pod workers, never the pod manager (P5). */
export interface PodStateProvider {
  /**
   * Returns whether nothing of the pod is needed after its termination: it was deleted, evicted, or never known to this
   * kubelet.
   */
  shouldPodContentBeRemoved(uid: string): boolean;
  /**
   * Returns whether the pod has terminated: none of its containers will run again, but its records may still be read.
   */
  shouldPodRuntimeBeRemoved(uid: string): boolean;
}

/** Assumptions and permissions of a collection. */
export interface GarbageCollectOptions {
  /**
   * Whether every pod source is ready. Before all sources are ready, an unknown pod may be a pod that should be
   * running.
   */
  readonly allSourcesReady: boolean;
  /** Whether terminated pods lose their containers, too, because the node is short of disk space. */
  readonly evictNonDeletedPods: boolean;
}

/**
 * Returns whether all dead containers and sandboxes of a pod may be removed. Upstream removes the containers of an
 * evicted pod immediately. Here, the containers of an evicted pod are kept until the pod has terminated, because the
 * exit codes in the pod's final status are read from their records (S3).
 */
export function isRemovable(uid: string, pods: PodStateProvider, evictNonDeletedPods: boolean): boolean {
  return pods.shouldPodRuntimeBeRemoved(uid) && (evictNonDeletedPods || pods.shouldPodContentBeRemoved(uid));
}
