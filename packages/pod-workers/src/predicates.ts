/**
 * The questions that other managers ask about a pod (P5), as functions of the pod's record and of `podsSynced`.
 * `podsSynced` is true once housekeeping has compared the pod workers with a complete configuration. Before that, a pod
 * without a record may still be created.
 */
import type { PodWorkerState } from './record.ts';

/**
 * Returns whether the terminating step has succeeded. Returns false for unknown pods, so it is only suited to filter
 * desired pods, as admission does.
 */
export function isPodKnownTerminated(state: PodWorkerState | undefined): boolean {
  return state !== undefined && hasTerminated(state);
}

/** Returns whether containers of the pod may run now or may be started. */
export function couldHaveRunningContainers(state: PodWorkerState | undefined, podsSynced: boolean): boolean {
  return state === undefined ? !podsSynced : !hasTerminated(state);
}

/** Returns whether the terminated step has succeeded, or the pod is known to be gone. */
export function shouldPodBeFinished(state: PodWorkerState | undefined, podsSynced: boolean): boolean {
  return state === undefined ? podsSynced : state.phase === 'finished';
}

/**
 * Returns whether the pod was requested to terminate. Containers may still be starting, because `syncPod` may run until
 * the terminating step begins. Returns false for pods that have already been removed.
 */
export function isPodTerminationRequested(state: PodWorkerState | undefined): boolean {
  return state !== undefined && state.phase !== 'syncing';
}

/**
 * Returns whether the pod worker has observed that the pod must terminate, so that no more containers are started.
 * Returns false from the request to terminate until the pod worker acts on the request: until then `syncPod` may still
 * start containers.
 */
export function shouldPodContainersBeTerminating(state: PodWorkerState | undefined, podsSynced: boolean): boolean {
  return state === undefined ? podsSynced : state.terminationStarted;
}

/** Returns whether resources that only running containers need, such as mounted volumes, can be removed. */
export function shouldPodRuntimeBeRemoved(state: PodWorkerState | undefined, podsSynced: boolean): boolean {
  return state === undefined ? podsSynced : hasTerminated(state);
}

/**
 * Returns whether all content of the pod can be removed: the pod was evicted, or it was deleted and its containers have
 * stopped.
 */
export function shouldPodContentBeRemoved(state: PodWorkerState | undefined, podsSynced: boolean): boolean {
  return state === undefined ? podsSynced : state.evicted || (state.deleted && hasTerminated(state));
}

function hasTerminated(state: PodWorkerState): boolean {
  return state.phase === 'terminated' || state.phase === 'finished';
}
