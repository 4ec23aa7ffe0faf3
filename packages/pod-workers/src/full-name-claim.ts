import { isStaticPod } from '@node-agent/pod-spec';
import type { PodWorkerState } from './record.ts';

/**
 * How a static pod that is to begin stands to its full name (P4): `held`: it has it; `first`: it runs already, so it goes
 * before those that wait, or they would wait for each other; `blocked`: another pod of the name runs, or may, and is to be
 * gone first, however many wait; `inLine`: its turn decides.
 */
export type FullNameClaim = 'held' | 'first' | 'blocked' | 'inLine';

/**
 * Beside the pods that have a worker, those that only the runtime knows count: after a restart the predecessor may still
 * run. A pod that ends may always go on.
 * @param running the UIDs of the pods of this name of which anything runs; `undefined` where nobody knows yet
 * @param stateOf the record of a pod; `undefined` for one that has no worker
 */
export function fullNameClaim(
  { uid, phase }: Pick<PodWorkerState, 'uid' | 'phase'>,
  holder: string | undefined,
  running: readonly string[] | undefined,
  stateOf: (uid: string) => PodWorkerState | undefined,
): FullNameClaim {
  if (holder === uid) return 'held';
  if (running?.includes(uid)) return 'first';
  return isKeptFrom(uid, running, stateOf) && phase === 'syncing' ? 'blocked' : 'inLine';
}

/** Whether another pod than `uid` runs, or may, that keeps a full name which no worker holds. Parameters as of {@link fullNameClaim}. */
export function isKeptFrom(
  uid: string | undefined,
  running: readonly string[] | undefined,
  stateOf: (uid: string) => PodWorkerState | undefined,
): boolean {
  return running === undefined || blockerOf(uid, running, stateOf) !== undefined;
}

/** The UID of a pod that keeps a full name from `uid`, which no worker holds; `undefined` where none does. Parameters as of {@link fullNameClaim}. */
export function blockerOf(
  uid: string | undefined,
  running: readonly string[] | undefined,
  stateOf: (uid: string) => PodWorkerState | undefined,
): string | undefined {
  return running?.find((other) => other !== uid && keepsName(stateOf(other)));
}

/**
 * Whether a pod that runs keeps a static pod of its name from starting: any but one of the API server does. The
 * pod itself is asked: one that was known by its containers alone may turn out to be static while it is ended.
 */
function keepsName(state: PodWorkerState | undefined): boolean {
  const pod = (state?.active ?? state?.pending)?.pod;
  return pod === undefined || isStaticPod(pod);
}
