import { isStaticPod } from '@node-agent/pod-spec';
import type { PodWorkerState } from './record.ts';

/**
 * Claim of a static pod to its full name (P4). A static pod starts only when it holds the name.
 * - `held`: the pod has the name.
 * - `first`: the pod already runs, so it goes ahead of the waiting pods; otherwise they would wait for each other.
 * - `blocked`: another pod with this name runs or may run. That pod must terminate first, whatever the order of the
 *   queue.
 * - `inLine`: the pod waits in the queue.
 */
export type FullNameClaim = 'held' | 'first' | 'blocked' | 'inLine';

/**
 * Returns the claim of a static pod to its full name. Besides the pods that have a worker, pods that only the runtime
 * knows count too: after a kubelet restart the predecessor may still run. A terminating pod is never blocked.
 * @param running UIDs of the pods of this name with a running container or sandbox; `undefined` if the runtime's pods
 * are not known yet
 * @param stateOf returns the record of a pod; `undefined` if the pod has no worker
 */
export function fullNameClaim(
  { uid, phase }: Pick<PodWorkerState, 'uid' | 'phase'>,
  holder: string | undefined,
  running: readonly string[] | undefined,
  stateOf: (uid: string) => PodWorkerState | undefined,
): FullNameClaim {
  if (holder === uid) return 'held';
  if (running?.includes(uid)) return 'first';
  return isFullNameBlocked(uid, running, stateOf) && phase === 'syncing' ? 'blocked' : 'inLine';
}

/**
 * Returns whether a full name that no pod worker holds is blocked for `uid`, because another pod with this name runs or
 * may run. Parameters as in {@link fullNameClaim}.
 */
export function isFullNameBlocked(
  uid: string | undefined,
  running: readonly string[] | undefined,
  stateOf: (uid: string) => PodWorkerState | undefined,
): boolean {
  return running === undefined || fullNameBlocker(uid, running, stateOf) !== undefined;
}

/**
 * Returns the UID of the running pod that blocks a full name for `uid` although no pod worker holds the name;
 * `undefined` if there is none. Parameters as in {@link fullNameClaim}.
 */
export function fullNameBlocker(
  uid: string | undefined,
  running: readonly string[] | undefined,
  stateOf: (uid: string) => PodWorkerState | undefined,
): string | undefined {
  return running?.find((other) => other !== uid && blocksFullName(stateOf(other)));
}

/**
 * Returns whether a running pod blocks a static pod of the same name from starting. Every pod does, except pods of the
 * API server. The pod's spec is checked, because a pod that was known only by its containers may turn out to be static
 * while it terminates.
 */
function blocksFullName(state: PodWorkerState | undefined): boolean {
  const pod = (state?.active ?? state?.pending)?.pod;
  return pod === undefined || isStaticPod(pod);
}
