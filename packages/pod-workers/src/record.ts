import type { Pod, RuntimePod } from '@node-agent/pod-spec';
import type { PodWorkerPhase } from './explanation.ts';
import type { PodStatusFn, PodUpdateType, PodWorkerStep, UpdatePodOptions } from './types.ts';

/** What a step is given to work with: of the newest updates what a step needs, and nothing that must outlive it (see {@link PodWorkerState}). */
export interface PodWork {
  readonly updateType: PodUpdateType;
  readonly pod: Pod | undefined;
  readonly mirrorPod: Pod | undefined;
  /** Only where no `pod` is known. */
  readonly runningPod: RuntimePod | undefined;
  readonly startTimeMs: number | undefined;
  /** It is news of a pod that goes on, and nothing else waits with it: it may wait a moment for more of its kind. */
  readonly patient: boolean;
}

/** All that is known of one pod's life: one record per pod UID, replaced at each transition. Times are wall clock. */
export interface PodWorkerState {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** `name_namespace`; of two static pods that share it one runs at a time (P4). */
  readonly fullName: string;
  readonly static: boolean;
  readonly phase: PodWorkerPhase;
  /** The step that runs now. */
  readonly running: PodWorkerStep | undefined;
  /** The newest update that no step has been given yet: a newer one replaces it (P2). */
  readonly pending: PodWork | undefined;
  /** What the last step was given: it is replayed when nothing newer is there. */
  readonly active: PodWork | undefined;
  readonly seenAtMs: number;
  /** When it was let start; absent while it waits for its full name, or for its first step. */
  readonly startedAtMs: number | undefined;
  /** The worker has seen that the pod terminates: no container of it is started from here on. */
  readonly terminationStarted: boolean;
  /** The API server marked it deleted, or it left the configuration. */
  readonly deleted: boolean;
  readonly evicted: boolean;
  /** An update of type create came while it terminated: housekeeping forgets it once it is finished (P3). */
  readonly restartRequested: boolean;
  /** The runtime was seen to have it: it must go through a terminating step, even if it has never started here. */
  readonly observedRuntime: boolean;
  /** In force since it terminates; only ever shorter (P2). */
  readonly gracePeriodSeconds: number | undefined;
  /** Of all kills so far, in their order; all are kept until the pod has terminated (P2). */
  readonly completions: readonly (() => void)[];
  readonly podStatusFns: readonly PodStatusFn[];
  /** One of `podStatusFns` came when the step ran already that they are given to: it runs once more with all of them (P2). */
  readonly podStatusFnIsLate: boolean;
}

/** What can happen to a pod's record. `nowMs` is the wall clock. */
export type PodWorkerEvent =
  | {
      readonly type: 'update';
      readonly options: UpdatePodOptions;
      /** The pod cache has seen the runtime, and nothing of this pod runs there. */
      readonly nothingRunning: boolean;
      readonly nowMs: number;
    }
  /** Look again, with the newest that is known. */
  | { readonly type: 'wake' }
  /** The worker is free to do what is pending. `turn`: a static pod may have its full name now; true for others. */
  | {
      readonly type: 'begin';
      readonly turn: boolean;
      /** The pod cache shows that something of the pod runs: an earlier kubelet has started it. */
      readonly runs?: boolean;
      readonly nowMs: number;
    }
  /** The step that runs has been given all that there is to work with: what comes from now on comes late. */
  | { readonly type: 'given' }
  /** The step that ran has ended. */
  | { readonly type: 'ended'; readonly outcome: PodStepOutcome }
  /** Housekeeping compares with the configuration. */
  | { readonly type: 'housekeeping'; readonly desired: boolean };

/** How a step ended; `terminal` is `syncPod`'s alone. */
export type PodStepOutcome = 'done' | 'terminal' | 'failed' | 'cancelled';

/** What the shell has to do after a transition, in this order. */
export type PodWorkerEffect =
  /** Abort the running step: there is more urgent news. */
  | { readonly kind: 'cancel' }
  /** Something is pending: begin as soon as no step runs. */
  | { readonly kind: 'begin' }
  /** A static pod must wait for its full name; what is pending stays so. */
  | { readonly kind: 'wait' }
  /** Let the step run. `first`: it is the pod's first. */
  | { readonly kind: 'run'; readonly step: PodWorkerStep; readonly update: PodWork; readonly first: boolean }
  /** Look again after a while that depends on how the step ended. */
  | { readonly kind: 'requeue' }
  /** The update is not acted upon. */
  | { readonly kind: 'ignored'; readonly reason: string }
  /** Tell those who asked for a kill. */
  | { readonly kind: 'complete'; readonly completions: readonly (() => void)[] };

/** A record's successor (`undefined`: forgotten), and what is to be done. */
export interface PodWorkerTransition {
  readonly state: PodWorkerState | undefined;
  readonly effects: readonly PodWorkerEffect[];
}

/** The effect that calls `completions`, if there are any. */
export function complete(completions: readonly (() => void)[]): readonly PodWorkerEffect[] {
  return completions.length === 0 ? [] : [{ kind: 'complete', completions }];
}

/** `state` with what the last step was given as the pending update, unless something newer is pending or nothing can be replayed. */
export function replay(state: PodWorkerState): PodWorkerState {
  if (state.pending !== undefined || state.active === undefined) return state;
  return { ...state, pending: { ...state.active, updateType: 'sync', startTimeMs: undefined, patient: false } };
}

/**
 * Whether the pod has a claim to its full name: it waits to start, or it has started and is not finished (P4). One that
 * terminates without having started will never run, so it must not hold back those behind it.
 */
export function claimsFullName(state: PodWorkerState | undefined): boolean {
  if (state === undefined || !state.static || state.phase === 'finished') return false;
  return state.phase === 'syncing' || state.startedAtMs !== undefined;
}
