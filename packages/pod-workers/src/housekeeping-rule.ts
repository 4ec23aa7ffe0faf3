import {
  complete,
  type PodWorkerEffect,
  type PodWorkerEvent,
  type PodWorkerState,
  type PodWorkerTransition,
  replay,
} from './record.ts';
import { toTerminating } from './run-rule.ts';

/**
 * Handles a housekeeping pass for one pod: terminates or forgets the pod if the configuration no longer contains it.
 * Upstream: `removeTerminatedWorker` in `pkg/kubelet/pod_workers.go`. Only housekeeping forgets a finished pod, so that
 * its UID can be used again (P3). A pod that has left the configuration is terminated here, because no pod source will
 * send another update for it.
 */
export function onHousekeeping(
  state: PodWorkerState,
  event: Extract<PodWorkerEvent, { type: 'housekeeping' }>,
): PodWorkerTransition {
  if (isUnchanged(state, event.desired)) return { state, effects: [] };
  if (state.phase === 'finished') return { state: undefined, effects: [] };
  if (state.startedAtMs === undefined && !state.observedRuntime) {
    return { state: undefined, effects: complete(state.completions) };
  }
  if (state.phase === 'syncing') {
    const effects: PodWorkerEffect[] = [{ kind: 'begin' }];
    if (state.running !== undefined) effects.unshift({ kind: 'cancel' });
    return { state: replay({ ...toTerminating(state), deleted: true }), effects };
  }
  // Starts the termination only once. After that, the step's own back-off decides when it is retried (P7).
  if (state.deleted) return { state, effects: [] };
  return { state: replay({ ...state, deleted: true }), effects: [{ kind: 'begin' }] };
}

/** Returns whether a housekeeping pass changes nothing: the configuration has the pod, and its UID is not reused. */
export function isUnchanged({ phase, restartRequested }: PodWorkerState, desired: boolean): boolean {
  return desired && !(phase === 'finished' && restartRequested);
}
