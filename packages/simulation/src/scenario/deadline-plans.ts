import type { Action } from './actions.ts';
import { diceOf } from './dice.ts';
import type { PodPlan } from './plans.ts';
import { mapPods } from './pods-of-actions.ts';

/** Fraction of pods with `activeDeadlineSeconds`. */
const WITH_DEADLINE = 0.08;

/**
 * Adds deadlines to some pods of the actions. The deadlines are drawn with random numbers of their own, so that the
 * rest of a scenario stays the same. Every version of a pod gets the same deadline.
 */
export function withDeadlines(seed: number, actions: readonly Action[]): readonly Action[] {
  const draw = (pod: PodPlan): PodPlan => {
    const dice = diceOf(seed, pod.uid, 'deadline');
    return dice.chance(WITH_DEADLINE) ? { ...pod, deadlineSeconds: dice.between(1, 40) } : pod;
  };
  return mapPods(actions, draw);
}
