import type { Action } from './actions.ts';
import { diceOf } from './dice.ts';

/**
 * Fraction of nodes that lose records of exited containers, as by `crictl rm -a`, and the maximum number of losses per
 * node.
 */
const WITH_REMOVALS = 0.3;
const MOST = 3;

/**
 * Adds removals of the runtime's records of exited containers without the kubelet's knowledge. The removals are drawn
 * with random numbers of their own, so that the rest of a scenario stays the same.
 */
export function withRemovals(seed: number, actions: readonly Action[], lastMs: number): readonly Action[] {
  const dice = diceOf(seed, 'removals');
  if (!dice.chance(WITH_REMOVALS)) return actions;
  const times = Array.from({ length: dice.between(1, MOST) }, () => dice.between(10_000, lastMs));
  const removals = times.map((atMs): Action => ({ atMs, do: 'removeRecords' }));
  return [...actions, ...removals].toSorted((a, b) => a.atMs - b.atMs);
}
