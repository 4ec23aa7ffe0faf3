import type { Pod, PodStatus, RuntimePod, RuntimePodStatus } from '@node-agent/pod-spec';

/** Why a pod worker is told of a pod (upstream's `SyncPodType`); also the label `operation_type` of its metric. */
export type PodUpdateType = 'create' | 'update' | 'sync' | 'kill';

/** Rewrites a pod's status when the pod is killed for a reason that its status must show, as an eviction. */
export type PodStatusFn = (status: PodStatus) => PodStatus;

/** What a kill asks for beside the killing; `KillPodOptions` of `pkg/kubelet/pod_workers.go`. */
export interface KillPodOptions {
  /**
   * Called exactly once: when no container of the pod runs any more and none can start, or at once where the pod is
   * not being killed (unknown, already terminated, or the update was no kill). Must not throw.
   */
  readonly completed?: () => void;
  /** The pod is evicted: its content is removed as soon as that is asked for, not when it has terminated. */
  readonly evict?: boolean;
  /** Applied to the pod's status while it terminates; where several kills give one, all apply, in the order of the kills. */
  readonly podStatusFn?: PodStatusFn;
  /** Seconds; only ever shortens what is in force. Less than 1 counts as 1. */
  readonly gracePeriodSecondsOverride?: number;
}

/** One piece of news for a pod's worker. Either `pod` or `runningPod` must be given. */
export interface UpdatePodOptions {
  readonly updateType: PodUpdateType;
  /** When the news came to be, by the monotonic clock, for `kubelet_pod_worker_duration_seconds`. */
  readonly startTimeMs?: number;
  readonly pod?: Pod;
  /** The mirror pod of a static pod. What the last update but a kill said of it is what each later sync is given. */
  readonly mirrorPod?: Pod;
  /** A pod that only the runtime knows; it can be killed, nothing else. Ignored where `pod` is given. */
  readonly runningPod?: RuntimePod;
  readonly killPodOptions?: KillPodOptions;
}

/** What a worker does to a pod: the three steps of its life, and the one of a pod that only the runtime knows. */
export type PodWorkerStep = 'syncPod' | 'syncTerminatingPod' | 'syncTerminatingRuntimePod' | 'syncTerminatedPod';

/**
 * What the workers drive. Steps of one pod never overlap, steps of different pods do. Each step must be able to run
 * again after it failed, and should end soon after its signal is aborted (throwing the signal's reason is the way).
 */
export interface PodSyncer {
  /**
   * Brings a pod closer to what its spec says.
   * @returns `isTerminal` where the pod has reached Succeeded or Failed by itself: the next step is to terminate it;
   *   `idle` where nothing was done to the runtime: the next sync may be given the same status, if there is no newer one;
   *   `error` where something failed, and the pod is terminal all the same: it is told, and nothing is tried again
   */
  syncPod(
    updateType: PodUpdateType,
    pod: Pod,
    mirrorPod: Pod | undefined,
    status: RuntimePodStatus,
    signal: AbortSignal,
  ): Promise<{ readonly isTerminal: boolean; readonly idle?: boolean; readonly error?: unknown }>;
  /**
   * Returns only once no container of the pod runs. Aborted when a shorter grace period is asked for, and called again with it.
   * @returns `stoppedAtMs`, when nothing of it ran any more (monotonic clock): whatever status was read after that serves the next step.
   *   Where it is absent, only what is read after this one does
   */
  syncTerminatingPod(
    pod: Pod,
    status: RuntimePodStatus,
    gracePeriodSeconds: number | undefined,
    podStatusFn: PodStatusFn | undefined,
    signal: AbortSignal,
  ): Promise<{ readonly stoppedAtMs?: number }>;
  /** Returns only once no container of the pod runs. */
  syncTerminatingRuntimePod(runningPod: RuntimePod, signal: AbortSignal): Promise<void>;
  /** Releases what a pod without containers still holds; when it returns the pod is finished on this node. */
  syncTerminatedPod(pod: Pod, status: RuntimePodStatus, signal: AbortSignal): Promise<void>;
}

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

/** What housekeeping learns of one worker; `PodWorkerSync` of `pkg/kubelet/pod_workers.go`. */
export interface PodWorkerSync {
  /** As the label `lifecycle` of `kubelet_working_pods` has it. */
  readonly state: 'sync' | 'terminating' | 'terminated';
  /** The pod is not among the desired ones any more. */
  readonly orphan: boolean;
  /** The worker has seen the pod's spec, not only its containers. */
  readonly hasConfig: boolean;
  readonly static: boolean;
}
