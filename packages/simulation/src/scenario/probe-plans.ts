import type { Action } from './actions.ts';
import { type Dice, diceOf } from './dice.ts';
import type { ContainerPlan, PodPlan, ProbePlan, ProbePlans } from './plans.ts';
import { mapPods } from './pods-of-actions.ts';

/** Consecutive failures of liveness and readiness probes. Startup probes may fail for as long as needed. */
export const LIVENESS_FAILURE_THRESHOLD = 3;
export const READINESS_FAILURE_THRESHOLD = 3;
const LATEST_WELL_MS = 8000;

/**
 * Adds probes to some pods of the actions. The probes are drawn with random numbers of their own, from the seed and the
 * pod's UID, so that the rest of a scenario stays the same. Every version of a pod gets the same probes.
 */
export function withProbes(seed: number, actions: readonly Action[]): readonly Action[] {
  return mapPods(actions, (pod) => probed(seed, pod));
}

function probed(seed: number, pod: PodPlan): PodPlan {
  const dice = diceOf(seed, pod.uid);
  if (!dice.chance(0.3)) return pod;
  const withDrawn = (container: ContainerPlan, startup: boolean): ContainerPlan => {
    const probes = drawProbes(dice, startup);
    return Object.keys(probes).length === 0 ? container : { ...container, probes };
  };
  return {
    ...pod,
    init: pod.init.map((one) => (one.restartPolicy === 'Always' ? withDrawn(one, false) : one)),
    containers: pod.containers.map((one) => withDrawn(one, true)),
  };
}

function drawProbes(dice: Dice, withStartup: boolean): ProbePlans {
  const plan = (): ProbePlan => ({ periodSeconds: dice.between(1, 4), wellAfterMs: 0 });
  const late = (): ProbePlan => ({ ...plan(), wellAfterMs: dice.between(0, LATEST_WELL_MS) });
  const nowAndThen = { everyNthFails: dice.between(3, 6) };
  return {
    ...(withStartup && dice.chance(0.3) && { startup: late() }),
    ...(dice.chance(0.5) && { readiness: late() }),
    ...(dice.chance(0.4) && { liveness: { ...plan(), ...(dice.chance(0.5) && nowAndThen) } }),
  };
}
