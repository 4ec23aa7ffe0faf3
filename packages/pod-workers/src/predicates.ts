/**
 * The questions that other managers ask (P5), as functions of a pod's record and of `podsSynced`: whether housekeeping has
 * compared the workers with a whole configuration once. Before that, a pod that the workers do not know may still come.
 */
import type { PodWorkerState } from './record.ts';

/** The terminating step has succeeded. For filters of the desired pods, as admission. */
export function isPodKnownTerminated(state: PodWorkerState | undefined): boolean {
  return state !== undefined && hasTerminated(state);
}

/** A container of it may run now or be started. */
export function couldHaveRunningContainers(state: PodWorkerState | undefined, podsSynced: boolean): boolean {
  return state === undefined ? !podsSynced : !hasTerminated(state);
}

/** The terminated step has succeeded, or the pod is not there. */
export function shouldPodBeFinished(state: PodWorkerState | undefined, podsSynced: boolean): boolean {
  return state === undefined ? podsSynced : state.phase === 'finished';
}

/** It was asked to terminate; containers may still be under way up. */
export function isPodTerminationRequested(state: PodWorkerState | undefined): boolean {
  return state !== undefined && state.phase !== 'syncing';
}

/** Its worker has seen that it must terminate: none of its containers is started any more. */
export function shouldPodContainersBeTerminating(state: PodWorkerState | undefined, podsSynced: boolean): boolean {
  return state === undefined ? podsSynced : state.terminationStarted;
}

/** What only running containers need (mounted volumes, ...) may go. */
export function shouldPodRuntimeBeRemoved(state: PodWorkerState | undefined, podsSynced: boolean): boolean {
  return state === undefined ? podsSynced : hasTerminated(state);
}

/** All of it may go: it was evicted, or it was deleted and its containers have stopped. */
export function shouldPodContentBeRemoved(state: PodWorkerState | undefined, podsSynced: boolean): boolean {
  return state === undefined ? podsSynced : state.evicted || (state.deleted && hasTerminated(state));
}

function hasTerminated(state: PodWorkerState): boolean {
  return state.phase === 'terminated' || state.phase === 'finished';
}
