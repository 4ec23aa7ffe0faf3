import { effectiveGracePeriodSeconds } from './grace-period.ts';
import {
  complete,
  type PodWork,
  type PodWorkerEffect,
  type PodWorkerEvent,
  type PodWorkerState,
  type PodWorkerTransition,
  replay,
} from './record.ts';
import type { PodWorkerStep } from './types.ts';

/** Handles a wake-up: the input of the last step is replayed. */
export function onWake(state: PodWorkerState): PodWorkerTransition {
  if (state.phase === 'finished') return { state, effects: [] };
  const { pending } = state;
  // A wake-up is not delayed, so a pending update is processed without delay, too.
  const next = pending === undefined ? replay(state) : { ...state, pending: { ...pending, patient: false } };
  return { state: next, effects: [{ kind: 'begin' }] };
}

/** Starts the step for the pending update (`startPodSync` in `pkg/kubelet/pod_workers.go`). */
export function onBegin(state: PodWorkerState, event: Extract<PodWorkerEvent, { type: 'begin' }>): PodWorkerTransition {
  const { pending } = state;
  if (state.running !== undefined || pending === undefined) return { state, effects: [] };
  const first = state.startedAtMs === undefined;
  if (first && state.phase === 'syncing' && !event.turn) return { state, effects: [{ kind: 'wait' }] };
  // A static pod that never held its full name has no container that this kubelet started. A step for it could disturb
  // the pod that holds the name (P4).
  const observedRuntime = state.observedRuntime || event.runs === true;
  if (first && state.phase !== 'syncing' && state.static && !observedRuntime) return finish(state);

  const step = stepOf(state, pending);
  const isStartedHere = !state.static && pending.pod !== undefined;
  return {
    state: {
      ...state,
      running: step,
      pending: undefined,
      active: pending,
      // A pod that terminates before it held its name, or that is known only by its containers, was not started by this
      // kubelet.
      startedAtMs: state.startedAtMs ?? (step === 'syncPod' || isStartedHere ? event.nowMs : undefined),
      terminationStarted: state.terminationStarted || state.phase !== 'syncing',
      observedRuntime,
      podStatusFnIsLate: false,
    },
    effects: [{ kind: 'run', step, update: pending, first }],
  };
}

/** Records that the running step has received the current input, possibly after it has waited for the pod's status. */
export function onGiven(state: PodWorkerState): PodWorkerTransition {
  return { state: state.podStatusFnIsLate ? { ...state, podStatusFnIsLate: false } : state, effects: [] };
}

/**
 * Handles the end of the running step (`completeSync`, `completeTerminating`, ... and `completeWork` in
 * `pkg/kubelet/pod_workers.go`).
 */
export function onEnded(state: PodWorkerState, event: Extract<PodWorkerEvent, { type: 'ended' }>): PodWorkerTransition {
  const step = state.running;
  if (step === undefined) return { state, effects: [] };
  const idle: PodWorkerState = { ...state, running: undefined };
  if (event.outcome === 'failed' || event.outcome === 'cancelled') return continueWork(idle);
  switch (step) {
    case 'syncTerminatedPod':
      return finish(idle);
    case 'syncTerminatingRuntimePod':
      // The pod is not in the configuration, so nothing about it needs to be kept.
      return { state: undefined, effects: complete(idle.completions) };
    case 'syncTerminatingPod':
      if (idle.podStatusFnIsLate) return continueWork(replay(idle));
      return withEffects(
        continueWork(replay({ ...idle, phase: 'terminated', completions: [], podStatusFns: [] })),
        complete(idle.completions),
      );
    case 'syncPod':
      if (event.outcome !== 'terminal' || idle.phase !== 'syncing') return continueWork(idle);
      return continueWork(replay({ ...toTerminating(idle), terminationStarted: true }));
  }
}

/** Returns `state` as terminating, for a reason other than an update. */
export function toTerminating(state: PodWorkerState): PodWorkerState {
  const pod = (state.pending ?? state.active)?.pod;
  return {
    ...state,
    phase: 'terminating',
    gracePeriodSeconds: effectiveGracePeriodSeconds(state.gracePeriodSeconds, pod, undefined),
  };
}

function stepOf(state: PodWorkerState, update: PodWork): PodWorkerStep {
  if (state.phase === 'terminated') return 'syncTerminatedPod';
  if (state.phase === 'syncing') return 'syncPod';
  return update.pod === undefined ? 'syncTerminatingRuntimePod' : 'syncTerminatingPod';
}

function continueWork(state: PodWorkerState): PodWorkerTransition {
  return { state, effects: [{ kind: state.pending === undefined ? 'requeue' : 'begin' }] };
}

function finish(state: PodWorkerState): PodWorkerTransition {
  return {
    state: {
      ...state,
      phase: 'finished',
      pending: undefined,
      terminationStarted: true,
      completions: [],
      podStatusFns: [],
    },
    effects: complete(state.completions),
  };
}

function withEffects(transition: PodWorkerTransition, more: readonly PodWorkerEffect[]): PodWorkerTransition {
  return { state: transition.state, effects: [...transition.effects, ...more] };
}
