import type { Pod } from '@node-agent/pod-spec';
import type { VersionedStatus } from './status-manager.ts';
import type { PodStatusPatch } from './status-patch.ts';

/** The requests of the API server that a status takes. They throw errors whose `httpStatus` is that of the answer. */
export interface StatusApi {
  /** The newest, not a cached one. */
  getPod(namespace: string, name: string, signal: AbortSignal): Promise<Pod>;
  /**
   * A strategic merge patch of the subresource `status`. @returns the pod as it is then
   * @param uid that of the pod, which is in the patch too
   */
  patchPodStatus(
    namespace: string,
    name: string,
    uid: string,
    patch: PodStatusPatch,
    signal: AbortSignal,
  ): Promise<Pod>;
  /** With the UID as a precondition. */
  deletePod(
    namespace: string,
    name: string,
    options: { readonly uid: string; readonly gracePeriodSeconds: 0 },
    signal: AbortSignal,
  ): Promise<unknown>;
}

/** Where the newest statuses are: a {@link StatusManager}. */
export interface StatusSource {
  getVersionedStatus(uid: string): VersionedStatus | undefined;
  getStatuses(): readonly VersionedStatus[];
}

/** The pods as the API server's watch has them: the pod manager. */
export interface StatusPods {
  getPodByUid(uid: string): Pod | undefined;
  getMirrorPodByPod(pod: Pod): Pod | undefined;
}

/** What this node still holds of a pod. */
export interface PodDeletionSafety {
  /** S2: containers run, or may be started (the pod workers know). */
  couldHaveRunningContainers(uid: string): boolean;
  /** S5: containers, sandbox, volumes and cgroup are gone. */
  podResourcesAreReclaimed(uid: string): boolean;
}
