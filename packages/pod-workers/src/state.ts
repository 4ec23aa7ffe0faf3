/**
 * State table of one pod. Transitions that are not listed do not exist; a pod never returns to an earlier phase (P1).
 *
 * | phase       | event                                         | next phase  | other effects                                      |
 * |-------------|-----------------------------------------------|-------------|----------------------------------------------------|
 * | (unknown)   | update                                        | syncing     | then as for syncing, in the same transition        |
 * | (unknown)   | update of a Succeeded or Failed pod that has nothing running | terminated | `syncTerminatedPod` still runs      |
 * | (unknown)   | kill of a pod that only the runtime knows     | terminating | never synced (P6)                                  |
 * | syncing     | update: deletion, terminal phase, kill, runtime-only kill | terminating | cancels a running `syncPod`            |
 * | syncing     | `syncPod` ended, terminal                     | terminating |                                                    |
 * | syncing     | housekeeping: not desired any more            | terminating | forgotten immediately if it never started          |
 * | syncing     | any other update, or wake                     | syncing     | the newest is kept for the next `syncPod`          |
 * | terminating | begin, static and never started               | finished    | it never held its full name (P4)                   |
 * | terminating | update (each counts as a kill)                | terminating | a shorter grace period cancels the running step    |
 * | terminating | `syncTerminatingPod` succeeded                | terminated  | callbacks of kills are called                      |
 * | terminating | the same, but a status function arrived during the step | terminating | the step runs again with it (P2)         |
 * | terminating | `syncTerminatingRuntimePod` succeeded         | (forgotten) | callbacks of kills are called                      |
 * | terminated  | `syncTerminatedPod` succeeded                 | finished    |                                                    |
 * | any but syncing | update of type create                     | the same    | a restart under the same UID is noted (P3)         |
 * | finished    | housekeeping: not desired, or restart noted   | (forgotten) | the UID may be used again (P3)                     |
 *
 * A step that fails or is cancelled does not change the phase: the same step runs again, later or with a newer update.
 * Upstream: `pkg/kubelet/pod_workers.go` of Kubernetes 1.36.
 */

import { onHousekeeping } from './housekeeping-rule.ts';
import type { PodWorkerEvent, PodWorkerState, PodWorkerTransition } from './record.ts';
import { onBegin, onEnded, onGiven, onWake } from './run-rule.ts';
import { onUpdate } from './update-rule.ts';

/**
 * Returns the successor of a pod's record after an event, and the effects to perform. Pure.
 * @param state the current record; `undefined` for an unknown pod, for which only an update creates a record
 */
export function nextPodWorkerState(state: PodWorkerState | undefined, event: PodWorkerEvent): PodWorkerTransition {
  if (event.type === 'update') return onUpdate(state, event);
  if (state === undefined) return { state, effects: [] };
  switch (event.type) {
    case 'wake':
      return onWake(state);
    case 'begin':
      return onBegin(state, event);
    case 'delivered':
      return onGiven(state);
    case 'ended':
      return onEnded(state, event);
    case 'housekeeping':
      return onHousekeeping(state, event);
  }
}
