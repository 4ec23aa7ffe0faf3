import type { Action } from './actions.ts';
import { type Dice, diceOf } from './dice.ts';
import type { ContainerPlan, PodPlan } from './plans.ts';
import { mapPods } from './pods-of-actions.ts';

/** How many pods have a container whose liveness probe fails for good. */
const WITH_ILLNESS = 0.08;
const POLITE = 0.7;

/**
 * The actions with a container in some of their pods that fails its liveness probe after some time, each run anew. Most of them handle
 * SIGTERM and end with exit code 0, which under `OnFailure` must not be taken for their work. As probes are, they are drawn by chance of
 * their own: the rest of a scenario does not depend on them, and every version of a pod has the same.
 */
export function withIllness(seed: number, actions: readonly Action[]): readonly Action[] {
  return mapPods(actions, (pod) => {
    const dice = diceOf(seed, pod.uid, 'illness');
    return dice.chance(WITH_ILLNESS) ? withOneIll(dice, pod) : pod;
  });
}

function withOneIll(dice: Dice, pod: PodPlan): PodPlan {
  const nth = dice.between(0, pod.containers.length - 1);
  return {
    ...pod,
    ...(dice.chance(0.6) && { restartPolicy: 'OnFailure' as const }),
    containers: pod.containers.map((plan, index) => (index === nth ? ill(dice, plan) : plan)),
  };
}

function ill(dice: Dice, plan: ContainerPlan): ContainerPlan {
  const illAfterMs = dice.between(1000, 15_000);
  // It is well from some run on: the pod comes to rest.
  const illRuns = dice.between(1, 4);
  return {
    ...plan,
    runs: [{}],
    ...(dice.chance(POLITE) && { termExitCode: 0 }),
    probes: {
      ...plan.probes,
      liveness: { periodSeconds: dice.between(1, 3), wellAfterMs: 0, illAfterMs, illRuns },
    },
  };
}
