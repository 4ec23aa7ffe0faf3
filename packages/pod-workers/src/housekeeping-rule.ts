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
 * Housekeeping compares the pod with the configuration: `removeTerminatedWorker` of `pkg/kubelet/pod_workers.go`. It alone makes a
 * UID free again (P3). A pod that left the configuration is driven to its end here, as nobody else will send an update.
 */
export function onHousekeeping(
  state: PodWorkerState,
  event: Extract<PodWorkerEvent, { type: 'housekeeping' }>,
): PodWorkerTransition {
  if (state.phase === 'finished') {
    return event.desired && !state.restartRequested ? { state, effects: [] } : { state: undefined, effects: [] };
  }
  if (event.desired) return { state, effects: [] };
  if (state.startedAtMs === undefined && !state.observedRuntime) {
    return { state: undefined, effects: complete(state.completions) };
  }
  if (state.phase === 'syncing') {
    const effects: PodWorkerEffect[] = [{ kind: 'begin' }];
    if (state.running !== undefined) effects.unshift({ kind: 'cancel' });
    return { state: replay({ ...toTerminating(state), deleted: true }), effects };
  }
  // Once only: after that its own back-off decides when it is tried again (P7).
  if (state.deleted) return { state, effects: [] };
  return { state: replay({ ...state, deleted: true }), effects: [{ kind: 'begin' }] };
}
