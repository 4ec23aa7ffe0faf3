/**
 * The life of one pod, as a table. A transition that is not here does not exist; a pod never goes back up (P1).
 *
 * | phase       | event                                         | next phase  | what else                                          |
 * |-------------|-----------------------------------------------|-------------|----------------------------------------------------|
 * | (unknown)   | update                                        | syncing     | and then as below, in the same transition          |
 * | (unknown)   | update of a Succeeded or Failed pod that has nothing running | terminated | its `syncTerminatedPod` still runs  |
 * | (unknown)   | kill of a pod that only the runtime knows     | terminating | never synced (P6)                                  |
 * | syncing     | update: deletion, terminal phase, kill, runtime-only kill | terminating | cancels a running `syncPod`            |
 * | syncing     | `syncPod` ended, terminal                     | terminating |                                                    |
 * | syncing     | housekeeping: not desired any more            | terminating | forgotten at once where it has never started       |
 * | syncing     | any other update, or wake                     | syncing     | the newest is kept for the next `syncPod`          |
 * | terminating | begin, static and never started               | finished    | it waited in vain for its full name (P4)           |
 * | terminating | update (each counts as a kill)                | terminating | a shorter grace period cancels the running step    |
 * | terminating | `syncTerminatingPod` ended well               | terminated  | kills are completed                                |
 * | terminating | the same, but a status function came meanwhile | terminating | the step runs again with it (P2)                   |
 * | terminating | `syncTerminatingRuntimePod` ended well        | (forgotten) | kills are completed                                |
 * | terminated  | `syncTerminatedPod` ended well                | finished    |                                                    |
 * | any but syncing | update of type create                     | the same    | a restart under the same UID is noted (P3)         |
 * | finished    | housekeeping: not desired, or restart noted   | (forgotten) | the UID may be used again (P3)                     |
 *
 * A step that fails or is cancelled changes no phase: the same step runs again, later or with newer news.
 * The source is `pkg/kubelet/pod_workers.go` of Kubernetes 1.36.
 */

import { onHousekeeping } from './housekeeping-rule.ts';
import type { PodWorkerEvent, PodWorkerState, PodWorkerTransition } from './record.ts';
import { onBegin, onEnded, onGiven, onWake } from './run-rule.ts';
import { onUpdate } from './update-rule.ts';

/**
 * What becomes of a pod's record at an event, and what is to be done about it. Pure.
 * @param state the record so far; `undefined` for a pod that is not known: only an update changes that
 */
export function nextPodWorkerState(state: PodWorkerState | undefined, event: PodWorkerEvent): PodWorkerTransition {
  if (event.type === 'update') return onUpdate(state, event);
  if (state === undefined) return { state, effects: [] };
  switch (event.type) {
    case 'wake':
      return onWake(state);
    case 'begin':
      return onBegin(state, event);
    case 'given':
      return onGiven(state);
    case 'ended':
      return onEnded(state, event);
    case 'housekeeping':
      return onHousekeeping(state, event);
  }
}
