import type { Action, NodePlan } from './actions.ts';
import { diceOf } from './dice.ts';

/** How many nodes of a cluster are sent an object that is no pod. */
const SENT = 0.25;
const LAST_MS = 60_000;

/** What is wrong with an object that the API server sends as a pod. */
const BROKEN_KINDS = ['noContainers', 'wrongTypes', 'leadsOutside'] as const;
export type BrokenKind = (typeof BROKEN_KINDS)[number];

/**
 * The actions with objects of the API server that no node can run. All other pods have to go on as if they were not there. They are drawn by
 * chance of their own: the rest of a scenario does not depend on them.
 */
export function withBrokenObjects(seed: number, node: NodePlan, actions: readonly Action[]): readonly Action[] {
  const dice = diceOf(seed, 'cluster', 'broken');
  if (!node.cluster || !dice.chance(SENT)) return actions;
  return [...actions, { atMs: dice.between(0, LAST_MS), do: 'apiBroken', kind: dice.pick(BROKEN_KINDS) }];
}
