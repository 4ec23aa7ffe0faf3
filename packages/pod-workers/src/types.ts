import type { RuntimePodStatus } from '@node-agent/pod-spec';

export type {
  KillPodOptions,
  PodStatusFn,
  PodSyncer,
  PodUpdateType,
  PodWorkerSync,
  UpdatePodOptions,
} from '@node-agent/contracts';

/** Steps that a pod worker runs: three steps in the life of a pod, and one for a pod that only the runtime knows. */
export type PodWorkerStep = 'syncPod' | 'syncTerminatingPod' | 'syncTerminatingRuntimePod' | 'syncTerminatedPod';

/** The part of the pod cache that the pod workers read. */
export interface PodCacheReader {
  /** Returns the latest known status of a pod; `undefined` if the pod was not observed in the runtime. */
  get(uid: string): { readonly status: RuntimePodStatus; readonly error?: Error } | undefined;
  /**
   * Returns whether the runtime was queried for the pod. If so, and `get` returns `undefined`, the runtime does not
   * have the pod.
   */
  hasSeen(uid: string): boolean;
  /**
   * Returns the UIDs of the pods of this name with a running container or sandbox; `undefined` before the runtime's
   * pods were first listed.
   */
  runningPods(name: string, namespace: string): readonly string[] | undefined;
  /**
   * Returns a status that was read after `minTimeMs` (monotonic clock); waits for it if necessary.
   * @throws the error of the read
   */
  getNewerThan(uid: string, minTimeMs: number, signal: AbortSignal): Promise<RuntimePodStatus>;
}
