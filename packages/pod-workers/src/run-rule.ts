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

/** Something made a look at the pod worth while: what the last step was given is given again. */
export function onWake(state: PodWorkerState): PodWorkerTransition {
  if (state.phase === 'finished') return { state, effects: [] };
  const { pending } = state;
  // Whatever wakes it does not wait with an update that may.
  const next = pending === undefined ? replay(state) : { ...state, pending: { ...pending, patient: false } };
  return { state: next, effects: [{ kind: 'begin' }] };
}

/** The worker takes what is pending: `startPodSync` of `pkg/kubelet/pod_workers.go`. */
export function onBegin(state: PodWorkerState, event: Extract<PodWorkerEvent, { type: 'begin' }>): PodWorkerTransition {
  const { pending } = state;
  if (state.running !== undefined || pending === undefined) return { state, effects: [] };
  const first = state.startedAtMs === undefined;
  if (first && state.phase === 'syncing' && !event.turn) return { state, effects: [{ kind: 'wait' }] };
  // A static pod that never had its turn has no containers of ours, and a step of it could disturb its namesake (P4).
  const observedRuntime = state.observedRuntime || event.runs === true;
  if (first && state.phase !== 'syncing' && state.static && !observedRuntime) return finish(state);

  const step = stepOf(state, pending);
  const ours = !state.static && pending.pod !== undefined;
  return {
    state: {
      ...state,
      running: step,
      pending: undefined,
      active: pending,
      // What ends without having had its turn, or is known by its containers alone, was never started by us.
      startedAtMs: state.startedAtMs ?? (step === 'syncPod' || ours ? event.nowMs : undefined),
      terminationStarted: state.terminationStarted || state.phase !== 'syncing',
      observedRuntime,
      podStatusFnIsLate: false,
    },
    effects: [{ kind: 'run', step, update: pending, first }],
  };
}

/** The running step is given what there is by now: its pod's status may have been waited for. */
export function onGiven(state: PodWorkerState): PodWorkerTransition {
  return { state: state.podStatusFnIsLate ? { ...state, podStatusFnIsLate: false } : state, effects: [] };
}

/** The running step has ended: `completeSync`, `completeTerminating`, ... and `completeWork` of `pkg/kubelet/pod_workers.go`. */
export function onEnded(state: PodWorkerState, event: Extract<PodWorkerEvent, { type: 'ended' }>): PodWorkerTransition {
  const step = state.running;
  if (step === undefined) return { state, effects: [] };
  const idle: PodWorkerState = { ...state, running: undefined };
  if (event.outcome === 'failed' || event.outcome === 'cancelled') return goOn(idle);
  switch (step) {
    case 'syncTerminatedPod':
      return finish(idle);
    case 'syncTerminatingRuntimePod':
      // It has no place in the configuration, and so nothing that would be remembered of it.
      return { state: undefined, effects: complete(idle.completions) };
    case 'syncTerminatingPod':
      if (idle.podStatusFnIsLate) return goOn(replay(idle));
      return withEffects(
        goOn(replay({ ...idle, phase: 'terminated', completions: [], podStatusFns: [] })),
        complete(idle.completions),
      );
    case 'syncPod':
      if (event.outcome !== 'terminal' || idle.phase !== 'syncing') return goOn(idle);
      return goOn(replay({ ...toTerminating(idle), terminationStarted: true }));
  }
}

/** `state` on its way out, for a reason that brought no update. */
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

function goOn(state: PodWorkerState): PodWorkerTransition {
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
