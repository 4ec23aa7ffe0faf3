import type { Pod, PodStatus, RuntimePod, RuntimePodStatus } from '@node-agent/pod-spec';

/**
 * Reason for which a pod worker gets an update (upstream's `SyncPodType`). The reason is also the label
 * `operation_type` of the workers' metric.
 */
export type PodUpdateType = 'create' | 'update' | 'sync' | 'kill';

/** Rewrites a pod's status when the pod is killed for a reason that its status must show, for example an eviction. */
export type PodStatusFn = (status: PodStatus) => PodStatus;

/** Settings of a kill (`KillPodOptions` of `pkg/kubelet/pod_workers.go`). */
export interface KillPodOptions {
  /**
   * Called exactly once, when no container of the pod runs any more and none can start. Called immediately if there is
   * nothing to kill: the pod is unknown, already terminated, or the update was no kill. Must not throw.
   */
  readonly completed?: () => void;
  /** Whether the pod is evicted. The content of an evicted pod may be removed before the pod has terminated. */
  readonly evict?: boolean;
  /**
   * Applied to the pod's status while the pod terminates. If several kills have a function, all functions apply, in the
   * order of the kills.
   */
  readonly podStatusFn?: PodStatusFn;
  /** Grace period in seconds, which can only shorten the grace period that is in force. A value below 1 counts as 1. */
  readonly gracePeriodSecondsOverride?: number;
}

/** One update for a pod worker. Either `pod` or `runningPod` must be set. */
export interface UpdatePodOptions {
  readonly updateType: PodUpdateType;
  /** Time at which the reason for the update arose (monotonic clock, ms), for `kubelet_pod_worker_duration_seconds`. */
  readonly startTimeMs?: number;
  readonly pod?: Pod;
  /** The mirror pod of a static pod. Later syncs get the mirror pod of the newest update that was not a kill. */
  readonly mirrorPod?: Pod;
  /** A pod that only the runtime knows, and that can only be killed. Ignored if `pod` is set. */
  readonly runningPod?: RuntimePod;
  readonly killPodOptions?: KillPodOptions;
}

/** Outcome of {@link PodSyncer.syncPod}. */
export interface SyncPodOutcome {
  /** Whether the pod has reached Succeeded or Failed by itself. The worker then terminates the pod. */
  readonly isTerminal: boolean;
  /**
   * Whether the sync did nothing to the runtime. The next sync may then get the same runtime status, if there is no
   * newer status.
   */
  readonly idle?: boolean;
  /** The error of a sync that nevertheless found the pod terminal. The worker reports the error and does not retry. */
  readonly error?: unknown;
}

/**
 * The steps that pod workers call. Steps of one pod never overlap; steps of different pods do. Each step must be able to run
 * again after it failed. A step should end soon after its signal is aborted, by throwing the signal's reason.
 */
export interface PodSyncer {
  /** Brings a pod closer to the state that its spec describes. */
  syncPod(
    updateType: PodUpdateType,
    pod: Pod,
    mirrorPod: Pod | undefined,
    status: RuntimePodStatus,
    signal: AbortSignal,
  ): Promise<SyncPodOutcome>;
  /**
   * Stops all containers of the pod, and returns only when none runs. If a shorter grace period is requested in the
   * meantime, the step is aborted and called again with the shorter grace period.
   * @returns `stoppedAtMs`: when the last container had stopped (monotonic clock). Any runtime status that was read after that
   *   serves the next step. If absent, the next step needs a status that is read after this step.
   */
  syncTerminatingPod(
    pod: Pod,
    status: RuntimePodStatus,
    gracePeriodSeconds: number | undefined,
    podStatusFn: PodStatusFn | undefined,
    signal: AbortSignal,
  ): Promise<{ readonly stoppedAtMs?: number }>;
  /** Stops all containers of a pod that only the runtime knows, and returns only when none runs. */
  syncTerminatingRuntimePod(runningPod: RuntimePod, signal: AbortSignal): Promise<void>;
  /**
   * Releases the resources that a pod without containers still holds. When the step returns, the pod is finished on
   * this node.
   */
  syncTerminatedPod(pod: Pod, status: RuntimePodStatus, signal: AbortSignal): Promise<void>;
}

/** State of one pod worker, for housekeeping (`PodWorkerSync` of `pkg/kubelet/pod_workers.go`). */
export interface PodWorkerSync {
  /** State of the worker, which is also the label `lifecycle` of `kubelet_working_pods`. */
  readonly state: 'sync' | 'terminating' | 'terminated';
  /** Whether the pod is no longer among the desired pods. */
  readonly orphan: boolean;
  /** Whether the worker has seen the pod's spec, not only the pod's containers. */
  readonly hasConfig: boolean;
  readonly static: boolean;
}
