import type { Action } from './actions.ts';
import { diceOf } from './dice.ts';

/** How many nodes lose records of dead containers, as by `crictl rm -a`, and how often. */
const WITH_REMOVALS = 0.3;
const MOST = 3;

/**
 * The actions with removals of the runtime's records of dead containers behind the kubelet's back. They are drawn by chance of their own: the
 * rest of a scenario does not depend on them.
 */
export function withRemovals(seed: number, actions: readonly Action[], lastMs: number): readonly Action[] {
  const dice = diceOf(seed, 'removals');
  if (!dice.chance(WITH_REMOVALS)) return actions;
  const times = Array.from({ length: dice.between(1, MOST) }, () => dice.between(10_000, lastMs));
  const removals = times.map((atMs): Action => ({ atMs, do: 'removeRecords' }));
  return [...actions, ...removals].toSorted((a, b) => a.atMs - b.atMs);
}
