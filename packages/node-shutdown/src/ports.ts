import type { Pod, PodStatus } from '@node-agent/pod-spec';

/** How a pod is to be ended. */
export interface ShutdownKill {
  /** To be applied to the pod's status while it ends. */
  readonly statusFn: (status: PodStatus) => PodStatus;
  readonly gracePeriodSeconds: number;
}

/** Who knows the pods of the node, and ends them. */
export interface ShutdownPods {
  /** Those that may have anything that runs. */
  active(): readonly Pod[];
  /** Resolves when nothing of it runs any more; rejects where that takes too long. The kill goes on then. */
  kill(pod: Pod, how: ShutdownKill, signal: AbortSignal): Promise<void>;
}

/** Who mounts volumes. */
export interface ShutdownVolumes {
  /** Whether anything of the pod's volumes is left. */
  podVolumesExist(uid: string): Promise<boolean>;
}
