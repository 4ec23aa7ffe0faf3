import type { Action, NodePlan } from './actions.ts';
import { type Dice, diceOf } from './dice.ts';
import type { PodPlan } from './plans.ts';

/** The disks that a node may have. */
export const DISKS = ['d0', 'd1'] as const;

/** Fraction of cluster nodes with disks, and fraction of pods there that claim disks. */
const NODES_WITH_DISKS = 0.25;
const CLAIMING = 0.4;

/**
 * Adds pods that mount disks of their node, often one disk in several pods, and disk mounts that fail or hang. Pods and
 * faults are drawn with random numbers of their own, so that the rest of a scenario stays the same.
 */
export function withDisks(seed: number, node: NodePlan, actions: readonly Action[]): readonly Action[] {
  const dice = diceOf(seed, 'node', 'disks');
  if (!node.cluster || !dice.chance(NODES_WITH_DISKS)) return actions;
  const drawn = actions.map((action) =>
    action.do === 'apiCreate' ? { ...action, pod: claiming(seed, action.pod) } : action,
  );
  return [...drawn, ...drawFaults(dice)];
}

function claiming(seed: number, pod: PodPlan): PodPlan {
  const dice = diceOf(seed, pod.uid, 'disks');
  if (!dice.chance(CLAIMING)) return pod;
  return { ...pod, disks: dice.chance(0.25) ? DISKS : [dice.pick(DISKS)] };
}

function drawFaults(dice: Dice): readonly Action[] {
  return DISKS.filter(() => dice.chance(0.5)).map((disk) => ({
    ...{ atMs: dice.between(0, 50_000), do: 'diskFault', disk },
    ...{ fault: dice.pick(['fail', 'hang'] as const), forMs: dice.between(1000, 30_000) },
  }));
}
