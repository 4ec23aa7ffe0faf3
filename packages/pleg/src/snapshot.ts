import type { RuntimeContainerState, RuntimePod, RuntimePodStatus, RuntimeSandbox } from '@node-agent/pod-spec';

/** What of a pod can change so that someone must be told: the states of its containers and sandboxes, by id. */
export interface PodSnapshot {
  readonly containers: ReadonlyMap<string, RuntimeContainerState>;
  readonly sandboxes: ReadonlyMap<string, RuntimeSandbox['state']>;
}

/** A pod that the runtime does not have. */
export const noPod: PodSnapshot = { containers: new Map(), sandboxes: new Map() };

/** The states that a list or a status shows. */
export function snapshotOf(
  pod: Pick<RuntimePod | RuntimePodStatus, 'containers' | 'sandboxes'> | undefined,
): PodSnapshot {
  if (pod === undefined) return noPod;
  return {
    containers: new Map(pod.containers.map(({ id, state }) => [id, state])),
    sandboxes: new Map(pod.sandboxes.map(({ id, state }) => [id, state])),
  };
}

/** Whether the runtime has nothing left of the pod. */
export function isGone(snapshot: PodSnapshot): boolean {
  return snapshot.containers.size === 0 && snapshot.sandboxes.size === 0;
}

/** Whether both show the same states of the same containers and sandboxes. */
export function sameSnapshot(a: PodSnapshot, b: PodSnapshot): boolean {
  return sameEntries(a.containers, b.containers) && sameEntries(a.sandboxes, b.sandboxes);
}

function sameEntries(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  if (a.size !== b.size) return false;
  for (const [id, state] of a) if (b.get(id) !== state) return false;
  return true;
}
