import type { Pod } from '@node-agent/pod-spec';
import type { VersionedStatus } from './status-manager.ts';
import type { PodStatusPatch } from './status-patch.ts';

/**
 * Requests to the API server that the status writer needs. A failed request throws an error with the `httpStatus` of
 * the response.
 */
export interface StatusApi {
  /** Reads the current pod from the API server, not from a cache. */
  getPod(namespace: string, name: string, signal: AbortSignal): Promise<Pod>;
  /**
   * Applies a strategic merge patch to the `status` subresource.
   * @param uid UID of the pod; the patch contains it too
   * @returns the patched pod
   */
  patchPodStatus(
    namespace: string,
    name: string,
    uid: string,
    patch: PodStatusPatch,
    signal: AbortSignal,
  ): Promise<Pod>;
  /** Deletes the pod, with the UID as a precondition. */
  deletePod(
    namespace: string,
    name: string,
    options: { readonly uid: string; readonly gracePeriodSeconds: 0 },
    signal: AbortSignal,
  ): Promise<unknown>;
}

/** Source of the latest statuses: a {@link StatusManager}. */
export interface StatusSource {
  getVersionedStatus(uid: string): VersionedStatus | undefined;
  getStatuses(): readonly VersionedStatus[];
}

/** Pods as the API server's watch shows them: the pod manager. */
export interface StatusPods {
  getPodByUid(uid: string): Pod | undefined;
  getMirrorPodByPod(pod: Pod): Pod | undefined;
}

/** State of a pod on this node that decides whether its API object may be deleted. */
export interface PodDeletionSafety {
  /** S2: returns whether containers run or may be started, as the pod workers know. */
  couldHaveRunningContainers(uid: string): boolean;
  /** S5: returns whether the pod's containers, sandbox, volumes and cgroup are gone. */
  podResourcesAreReclaimed(uid: string): boolean;
}
