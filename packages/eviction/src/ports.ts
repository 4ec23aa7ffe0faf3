import type { Pod, PodStatus } from '@node-agent/pod-spec';
import type { DiskLayout } from './disk-layout.ts';
import type { EvictionSummary } from './summary.ts';

/** Parameters of a pod kill. */
export interface EvictionKill {
  /** Changes the pod's status while the pod terminates: sets phase `Failed` and the reason. */
  readonly statusFn: (status: PodStatus) => PodStatus;
  /** Grace period in seconds. The pod's actual grace period may be shorter, but never longer. */
  readonly gracePeriodSeconds: number;
}

/** Port to the node's pods. */
export interface EvictionPods {
  /** Returns the pods that hold resources of the node. */
  active(): readonly Pod[];
  /**
   * Returns whether all pods of the node are known. Until all pods are known, images that are needed may look unused,
   * so no image is removed and no pod is evicted for a disk that holds images. If absent, all pods count as known.
   */
  areKnown?(): boolean;
  /** Returns whether the pod is critical for the node; critical pods are never evicted. */
  isCritical(pod: Pod): boolean;
  /**
   * Kills a pod. Resolves when no container of the pod runs. Rejects if the containers take too long to stop; the kill
   * then continues in the background.
   */
  kill(pod: Pod, how: EvictionKill, signal: AbortSignal): Promise<void>;
  /** Returns whether all resources of the pod, including its volumes, are free. */
  isGone(pod: Pod): boolean;
}

/** Port to the stats of the node and its pods. */
export interface EvictionStats {
  /**
   * Returns stats that are measured now, unless the provider cannot measure on request. Each value in the stats has its
   * own time.
   */
  summary(options: { readonly fresh: true }, signal: AbortSignal): Promise<EvictionSummary>;
  /**
   * Returns fresh stats of the node without pods. Called while there is no shortage and no pod has a local storage
   * limit, which is most of the time. If absent, {@link summary} is used.
   */
  nodeSummary?(options: { readonly fresh: true }, signal: AbortSignal): Promise<EvictionSummary>;
  /**
   * Returns the machine's memory (`MemTotal`) in bytes as of the last summary; no larger usage is plausible. If absent
   * or `undefined`, all memory values are accepted.
   */
  machineMemoryBytes?(): number | undefined;
}

/** Port that removes unused resources. Rejections are logged; the next stats show the effect. */
export interface EvictionReclaim {
  /**
   * Removes all dead containers, including those of terminated pods. Resolves to the number of removed containers. The
   * runtime frees the disk space of removed containers some time later, so no pod is evicted for a disk until then.
   */
  deleteUnusedContainers(signal: AbortSignal): Promise<number>;
  deleteUnusedImages(signal: AbortSignal): Promise<unknown>;
}

/**
 * Port that measures the disk usage of pods that is too slow to measure for each stats request: volumes and writable
 * layers.
 */
export interface EvictionDiskUsage {
  /**
   * Measures all volumes and writable layers; later results of {@link EvictionStats} contain the new values. Called
   * before pods are ranked by disk usage.
   */
  measure(signal: AbortSignal): Promise<unknown>;
}

/**
 * Port to the disk layout. The layout is queried until one query has succeeded; until then, only memory and PID
 * thresholds are monitored.
 */
export interface EvictionDisks {
  layout(signal: AbortSignal): Promise<DiskLayout>;
}
