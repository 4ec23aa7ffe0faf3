import type { Action } from './actions.ts';
import { type Dice, diceOf } from './dice.ts';
import type { ContainerPlan, PodPlan } from './plans.ts';
import { mapPods } from './pods-of-actions.ts';

/**
 * Fraction of containers with readiness probes that become unready when they are stopped, and fraction of pods with
 * `preStop` hooks.
 */
const DRAINS = 0.6;
const WITH_PRE_STOP = 0.12;
const LONGEST_PRE_STOP_SECONDS = 8;

/**
 * Adds behaviour during termination to the containers of some pods. The behaviour is drawn with random numbers of its
 * own, so that the rest of a scenario stays the same. Every version of a pod gets the same behaviour.
 */
export function withEndings(seed: number, actions: readonly Action[]): readonly Action[] {
  return mapPods(actions, (pod) => ending(seed, pod));
}

function ending(seed: number, pod: PodPlan): PodPlan {
  const dice = diceOf(seed, pod.uid, 'ending');
  const hasHooks = dice.chance(WITH_PRE_STOP);
  return {
    ...pod,
    init: pod.init.map((one) => draining(dice, one)),
    containers: pod.containers.map((one) => withPreStop(dice, pod, draining(dice, one), hasHooks)),
  };
}

function draining(dice: Dice, container: ContainerPlan): ContainerPlan {
  const drains = dice.chance(DRAINS);
  const { probes } = container;
  if (!drains || probes?.readiness === undefined) return container;
  return { ...container, probes: { ...probes, readiness: { ...probes.readiness, drains } } };
}

function withPreStop(dice: Dice, pod: PodPlan, container: ContainerPlan, hasHooks: boolean): ContainerPlan {
  const seconds = dice.between(1, Math.min(LONGEST_PRE_STOP_SECONDS, pod.graceSeconds));
  const by = dice.pick(['exec', 'httpGet', 'sleep'] as const);
  const preStopSeconds = container.preStopSeconds ?? (hasHooks && dice.chance(0.6) ? seconds : undefined);
  if (preStopSeconds === undefined) return container;
  return { ...container, preStopSeconds, ...(by !== 'sleep' && { preStopBy: by }) };
}
