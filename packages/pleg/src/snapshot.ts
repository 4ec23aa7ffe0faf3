import type { RuntimeContainerState, RuntimePod, RuntimePodStatus, RuntimeSandbox } from '@node-agent/pod-spec';

/** The part of a pod's status from which events are derived: the states of its containers and sandboxes, by id. */
export interface PodSnapshot {
  readonly containers: ReadonlyMap<string, RuntimeContainerState>;
  readonly sandboxes: ReadonlyMap<string, RuntimeSandbox['state']>;
}

/** Snapshot of a pod that the runtime does not have: no containers and no sandboxes. */
export const noPod: PodSnapshot = { containers: new Map(), sandboxes: new Map() };

/** Returns the snapshot of a pod from its list entry or status. */
export function snapshotOf(
  pod: Pick<RuntimePod | RuntimePodStatus, 'containers' | 'sandboxes'> | undefined,
): PodSnapshot {
  if (pod === undefined) return noPod;
  return {
    containers: new Map(pod.containers.map(({ id, state }) => [id, state])),
    sandboxes: new Map(pod.sandboxes.map(({ id, state }) => [id, state])),
  };
}

/** Returns whether a snapshot shows that the runtime has no container or sandbox of the pod. */
export function isGone(snapshot: PodSnapshot): boolean {
  return snapshot.containers.size === 0 && snapshot.sandboxes.size === 0;
}

/** Returns whether both snapshots have the same containers and sandboxes in the same states. */
export function sameSnapshot(a: PodSnapshot, b: PodSnapshot): boolean {
  return sameEntries(a.containers, b.containers) && sameEntries(a.sandboxes, b.sandboxes);
}

function sameEntries(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  if (a.size !== b.size) return false;
  for (const [id, state] of a) if (b.get(id) !== state) return false;
  return true;
}
