import type { Action, NodePlan } from './actions.ts';
import { diceOf } from './dice.ts';

/** Fraction of cluster nodes that receive an invalid pod object. */
const SENT = 0.25;
const LAST_MS = 60_000;

/** Defect of an object that the API server sends as a pod. */
export type BrokenKind = 'noContainers' | 'wrongTypes' | 'leadsOutside';

const BROKEN_KINDS: readonly [BrokenKind, ...BrokenKind[]] = ['noContainers', 'wrongTypes', 'leadsOutside'];

/**
 * Adds objects of the API server that no node can run. The invalid objects must not affect other pods. They are drawn
 * with random numbers of their own, so that the rest of a scenario stays the same.
 */
export function withBrokenObjects(seed: number, node: NodePlan, actions: readonly Action[]): readonly Action[] {
  const dice = diceOf(seed, 'cluster', 'broken');
  if (!node.cluster || !dice.chance(SENT)) return actions;
  return [...actions, { atMs: dice.between(0, LAST_MS), do: 'apiBroken', kind: dice.pick(BROKEN_KINDS) }];
}
