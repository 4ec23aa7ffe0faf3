import type { Action, NodePlan } from './actions.ts';
import { type Dice, diceOf } from './dice.ts';

/** Fraction of nodes with scarce resources that have soft thresholds. */
const WITH_SOFT = 0.4;

/**
 * Adds soft thresholds to some nodes with scarce resources, and periods in which memory or disk is low. In some of the
 * periods, the resource also falls below the hard threshold. The thresholds and periods are drawn with random numbers
 * of their own, so that the rest of a scenario stays the same.
 */
export function withSoftThresholds(
  seed: number,
  node: NodePlan,
  actions: readonly Action[],
): { readonly node: NodePlan; readonly actions: readonly Action[] } {
  const dice = diceOf(seed, 'node', 'soft');
  if (node.resources === undefined || !dice.chance(WITH_SOFT)) return { node, actions };
  const soft = {
    graceSeconds: dice.pick([1, 5, 15, 30]),
    maxPodGraceSeconds: dice.pick([-1, 0, 3, 10, 20]),
  };
  const more: Action[] = [];
  for (let n = dice.between(1, 2); n > 0; n--) more.push(...drawLow(dice));
  return { node: { ...node, resources: { ...node.resources, soft } }, actions: [...actions, ...more] };
}

function drawLow(dice: Dice): readonly Action[] {
  const of = dice.weighted([
    [2, 'memory'],
    [1, 'disk'],
  ] as const);
  const atMs = dice.between(3000, 45_000);
  const forMs = dice.between(2000, 60_000);
  const low: Action = { atMs, do: 'lowOn', of, forMs };
  if (!dice.chance(0.3)) return [low];
  const shortAtMs = atMs + dice.between(0, forMs);
  return [low, { atMs: shortAtMs, do: 'pressure', of, unused: false, forMs: dice.between(1000, 15_000) }];
}
