import type { Action } from './actions.ts';
import { diceOf } from './dice.ts';
import type { PodPlan } from './plans.ts';
import { mapPods } from './pods-of-actions.ts';

/** How many pods may run for so long only. */
const WITH_DEADLINE = 0.08;

/**
 * The actions with deadlines for some of their pods. As probes are, they are drawn by chance of their own: the rest of a scenario does not
 * depend on them, and every version of a pod has the same.
 */
export function withDeadlines(seed: number, actions: readonly Action[]): readonly Action[] {
  const draw = (pod: PodPlan): PodPlan => {
    const dice = diceOf(seed, pod.uid, 'deadline');
    return dice.chance(WITH_DEADLINE) ? { ...pod, deadlineSeconds: dice.between(1, 40) } : pod;
  };
  return mapPods(actions, draw);
}
