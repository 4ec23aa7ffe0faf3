import type { RuntimePodStatus } from '@node-agent/pod-spec';

export type {
  KillPodOptions,
  PodStatusFn,
  PodSyncer,
  PodUpdateType,
  PodWorkerSync,
  UpdatePodOptions,
} from '@node-agent/contracts';

/** What a worker does to a pod: the three steps of its life, and the one of a pod that only the runtime knows. */
export type PodWorkerStep = 'syncPod' | 'syncTerminatingPod' | 'syncTerminatingRuntimePod' | 'syncTerminatedPod';

/** What the workers read of the pod cache. */
export interface PodCacheReader {
  /** What is known of a pod now; `undefined` where the runtime was not seen to have it. */
  get(uid: string): { readonly status: RuntimePodStatus; readonly error?: Error } | undefined;
  /** Whether the runtime has been asked about the pod, so that it is known to be unknown where `get` has nothing. */
  hasSeen(uid: string): boolean;
  /** The UIDs of the pods of this name of which anything runs; `undefined` before the runtime was asked for its pods. */
  runningPods(name: string, namespace: string): readonly string[] | undefined;
  /** The status as read after `minTimeMs` (monotonic clock); waits for it where need be. Throws the reading's error. */
  getNewerThan(uid: string, minTimeMs: number, signal: AbortSignal): Promise<RuntimePodStatus>;
}
