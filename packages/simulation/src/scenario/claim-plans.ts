import type { Action, NodePlan } from './actions.ts';
import { diceOf } from './dice.ts';
import type { PodPlan } from './plans.ts';
import { mapPods } from './pods-of-actions.ts';

/** The DRA driver of a node. The driver's devices are named `r0`, `r1` and so on. */
export interface ClaimsPlan {
  readonly devices: number;
}

/** Kind of a pod's ResourceClaim: the pod's own claim, or the claim that all pods with the kind `shared` share. */
export type ClaimPlan = 'own' | 'shared';

/** Calls of a DRA driver that may have faults. */
export type DraFaultCall = 'prepare' | 'unprepare';

/**
 * Fault of a call: `hang`: the driver does not respond until the fault ends; `error`: the call fails; `lost`: the call
 * takes effect, and its response is lost.
 */
export type DraFaultKind = 'hang' | 'error' | 'lost';

/** Name of the DRA driver. */
export const DRA_DRIVER = 'dra.example.com';

const CLAIMING = 0.5;

/**
 * Adds a DRA driver to a node, pods of the API that claim its devices, and faults of the driver. The driver, its pods
 * and its faults are drawn with random numbers of their own, so that the rest of a scenario stays the same.
 */
export function withClaims(
  seed: number,
  node: NodePlan,
  actions: readonly Action[],
  all: boolean,
): { readonly node: NodePlan; readonly actions: readonly Action[] } {
  const dice = diceOf(seed, 'node', 'claims');
  if (!all || !dice.chance(0.6)) return { node, actions };
  const claims = { devices: dice.between(1, 3) };
  const inApi = new Set(actions.flatMap((action) => (action.do === 'apiCreate' ? [action.pod.uid] : [])));
  const drawn = mapPods(actions, (pod) => (inApi.has(pod.uid) ? claiming(seed, pod) : pod));
  const faults = Array.from({ length: dice.between(0, 3) }, (): Action => {
    const atMs = dice.between(0, 58_000);
    if (dice.chance(0.4)) return { atMs, do: 'restartDra', downMs: dice.between(0, 20_000), clean: dice.chance(0.5) };
    const call = dice.pick(['prepare', 'unprepare'] as const);
    const fault = dice.pick(['hang', 'error', 'lost'] as const);
    return { atMs, do: 'draFault', call, fault, forMs: dice.between(500, dice.chance(0.2) ? 100_000 : 20_000) };
  });
  return { node: { ...node, claims }, actions: [...drawn, ...faults] };
}

function claiming(seed: number, pod: PodPlan): PodPlan {
  const dice = diceOf(seed, pod.uid, 'claims');
  return dice.chance(CLAIMING) ? { ...pod, claim: dice.chance(0.25) ? 'shared' : 'own' } : pod;
}

/** Returns the name of a pod's claim. */
export function claimName({ uid, claim }: Pick<PodPlan, 'uid' | 'claim'>): string {
  return claim === 'shared' ? 'shared-claim' : `${uid}-claim`;
}
