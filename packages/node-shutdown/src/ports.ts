import type { Pod, PodStatus } from '@node-agent/pod-spec';

/** Parameters of a pod kill. */
export interface ShutdownKill {
  /** Changes the pod's status. Applied while the pod terminates. */
  readonly statusFn: (status: PodStatus) => PodStatus;
  readonly gracePeriodSeconds: number;
}

/** Port to the node's pods. */
export interface ShutdownPods {
  /** Returns the pods that may have running containers. */
  active(): readonly Pod[];
  /**
   * Kills a pod. Resolves when no container of the pod runs. Rejects if the containers take too long to stop; the kill
   * continues.
   */
  kill(pod: Pod, how: ShutdownKill, signal: AbortSignal): Promise<void>;
}

/** Port to the volume manager. */
export interface ShutdownVolumes {
  /** Returns whether the pod still has volumes on the node. */
  podVolumesExist(uid: string): Promise<boolean>;
}
