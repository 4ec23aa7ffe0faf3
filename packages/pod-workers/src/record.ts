import type { Pod, RuntimePod } from '@node-agent/pod-spec';
import type { PodWorkerPhase } from './explanation.ts';
import type { PodStatusFn, PodUpdateType, PodWorkerStep, UpdatePodOptions } from './types.ts';

/**
 * Input of a step, taken from the newest updates. Contains only what one step needs; facts that must survive the step
 * are in {@link PodWorkerState}.
 */
export interface PodWork {
  readonly updateType: PodUpdateType;
  readonly pod: Pod | undefined;
  readonly mirrorPod: Pod | undefined;
  /** Present only if no `pod` is known. */
  readonly runningPod: RuntimePod | undefined;
  readonly startTimeMs: number | undefined;
  /**
   * Whether the step may be delayed to coalesce it with later updates: the pod continues to run, and nothing more
   * urgent is pending.
   */
  readonly patient: boolean;
}

/**
 * State of one pod in its pod worker. There is one record per pod UID; each transition replaces it. Times are wall
 * clock.
 */
export interface PodWorkerState {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** `name_namespace`. Of static pods that share a full name, only one runs at a time (P4). */
  readonly fullName: string;
  readonly static: boolean;
  readonly phase: PodWorkerPhase;
  /** The step that runs now. */
  readonly running: PodWorkerStep | undefined;
  /** Newest update that no step has processed yet. A newer update replaces it (P2). */
  readonly pending: PodWork | undefined;
  /** Input of the last step. The input is replayed if there is no newer update. */
  readonly active: PodWork | undefined;
  readonly seenAtMs: number;
  /** Time at which the pod worker started the pod; absent while the pod waits for its full name or its first step. */
  readonly startedAtMs: number | undefined;
  /** Whether the pod worker has observed that the pod terminates. No container of the pod is started afterwards. */
  readonly terminationStarted: boolean;
  /** Whether the API server marked the pod as deleted, or the pod left the configuration. */
  readonly deleted: boolean;
  readonly evicted: boolean;
  /**
   * Whether an update of type `create` arrived while the pod terminated. Housekeeping then forgets the pod once it is
   * finished (P3).
   */
  readonly restartRequested: boolean;
  /**
   * Whether the runtime was observed to run the pod. A pod that was observed must go through a terminating step even if
   * this kubelet never started it.
   */
  readonly observedRuntime: boolean;
  /** Grace period in force while the pod terminates. The grace period only ever gets shorter (P2). */
  readonly gracePeriodSeconds: number | undefined;
  /** Callbacks of all kills so far, in order. All callbacks are kept until the pod has terminated (P2). */
  readonly completions: readonly (() => void)[];
  readonly podStatusFns: readonly PodStatusFn[];
  /**
   * Whether one of `podStatusFns` arrived after the running terminating step had received its status functions. The
   * step then runs once more with all status functions (P2).
   */
  readonly podStatusFnIsLate: boolean;
}

/** Events that a pod's record reacts to. `nowMs` is the wall clock. */
export type PodWorkerEvent =
  | {
      readonly type: 'update';
      readonly options: UpdatePodOptions;
      /** Whether the pod cache has read the pod from the runtime, and found nothing of it running. */
      readonly nothingRunning: boolean;
      readonly nowMs: number;
    }
  /** Sync again, with the newest known input. */
  | { readonly type: 'wake' }
  /**
   * The pod worker is free to process the pending update. `turn`: whether a static pod may have its full name now; true
   * for other pods.
   */
  | {
      readonly type: 'begin';
      readonly turn: boolean;
      /** Whether the pod cache shows that something of the pod runs, so an earlier kubelet has started it. */
      readonly runs?: boolean;
      readonly nowMs: number;
    }
  /** The running step has received its input. A status function that arrives from now on is too late for this step. */
  | { readonly type: 'delivered' }
  /** The running step has ended. */
  | { readonly type: 'ended'; readonly outcome: PodStepOutcome }
  /** Housekeeping compares the pod with the configuration. */
  | { readonly type: 'housekeeping'; readonly desired: boolean };

/** Outcome of a step. Only `syncPod` returns `terminal`. */
export type PodStepOutcome = 'done' | 'terminal' | 'failed' | 'cancelled';

/** Effects that the caller must perform after a transition, in order. */
export type PodWorkerEffect =
  /** Abort the running step, because a more urgent update arrived. */
  | { readonly kind: 'cancel' }
  /** Process the pending update as soon as no step runs. */
  | { readonly kind: 'begin' }
  /** A static pod must wait for its full name. The pending update stays pending. */
  | { readonly kind: 'wait' }
  /** Run the step. `first`: whether it is the pod's first step. */
  | { readonly kind: 'run'; readonly step: PodWorkerStep; readonly update: PodWork; readonly first: boolean }
  /** Sync again after a delay that depends on how the step ended. */
  | { readonly kind: 'requeue' }
  /** The update is ignored. */
  | { readonly kind: 'ignored'; readonly reason: string }
  /** Call the callbacks of kills. */
  | { readonly kind: 'complete'; readonly completions: readonly (() => void)[] };

/** Successor of a record (`undefined`: the pod is forgotten) and the effects to perform. */
export interface PodWorkerTransition {
  readonly state: PodWorkerState | undefined;
  readonly effects: readonly PodWorkerEffect[];
}

/** Returns the effect that calls `completions`; none if there are no completions. */
export function complete(completions: readonly (() => void)[]): readonly PodWorkerEffect[] {
  return completions.length === 0 ? [] : [{ kind: 'complete', completions }];
}

/**
 * Returns `state` with the input of the last step as pending update, unless a newer update is pending or there is no
 * earlier input.
 */
export function replay(state: PodWorkerState): PodWorkerState {
  if (state.pending !== undefined || state.active === undefined) return state;
  return { ...state, pending: { ...state.active, updateType: 'sync', startTimeMs: undefined, patient: false } };
}

/**
 * Returns whether a static pod claims its full name: it waits to start, or it has started and is not finished (P4). A pod
 * that terminates without having started will never run, so it must not block the pods behind it.
 */
export function claimsFullName(state: PodWorkerState | undefined): boolean {
  if (state === undefined || !state.static || state.phase === 'finished') return false;
  return state.phase === 'syncing' || state.startedAtMs !== undefined;
}
