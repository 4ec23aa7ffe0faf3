import type { Action } from './actions.ts';
import { type Dice, diceOf } from './dice.ts';
import type { ContainerPlan, PodPlan } from './plans.ts';
import { mapPods } from './pods-of-actions.ts';

/** Fraction of pods with a container whose liveness probe fails permanently at some point. */
const WITH_ILLNESS = 0.08;
const POLITE = 0.7;

/**
 * Adds to some pods a container whose liveness probe fails some time after each of its first starts. Most of these
 * containers handle SIGTERM and exit with code 0, which under `OnFailure` must not count as completion. The containers
 * are drawn with random numbers of their own, so that the rest of a scenario stays the same. Every version of a pod
 * gets the same container.
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
  // Later runs stay healthy, so that the pod reaches a stable state.
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
