import { isStaticPod } from '@node-agent/pod-spec';
import type { PodWorkerState } from './record.ts';

/**
 * How a static pod that wants to start stands in relation to its full name (P4).
 * - `held`: the pod has the name.
 * - `first`: the pod already runs, so it goes ahead of the waiting pods; otherwise they would wait for each other.
 * - `blocked`: another pod of the name runs or may run, and must be gone first, however many pods wait.
 * - `inLine`: the pod's place in the queue decides.
 */
export type FullNameClaim = 'held' | 'first' | 'blocked' | 'inLine';

/**
 * Decides how a static pod stands in relation to its full name. Besides the pods that have a worker, pods that only the
 * runtime knows count too: after a kubelet restart the predecessor may still run. A terminating pod is never blocked.
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
 * Returns whether a pod other than `uid` runs, or may run, and keeps a full name that no pod worker holds. Parameters
 * as in {@link fullNameClaim}.
 */
export function isFullNameBlocked(
  uid: string | undefined,
  running: readonly string[] | undefined,
  stateOf: (uid: string) => PodWorkerState | undefined,
): boolean {
  return running === undefined || fullNameBlocker(uid, running, stateOf) !== undefined;
}

/**
 * Returns the UID of a running pod that keeps a full name, which no pod worker holds, from `uid`; `undefined` if there
 * is none. Parameters as in {@link fullNameClaim}.
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
