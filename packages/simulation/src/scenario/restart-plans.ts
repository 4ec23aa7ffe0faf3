import type { Action } from './actions.ts';
import { type Dice, diceOf } from './dice.ts';
import type { ContainerPlan, PodPlan, RestartRulePlan, RunPlan } from './plans.ts';
import { mapPods } from './pods-of-actions.ts';

/**
 * Fraction of pods with a container whose exit restarts all containers, and fraction of other pods with a container
 * with restart rules.
 */
const RESTART_ALL = 0.1;
const WITH_RULES = 0.1;

/**
 * Adds restart rules to some containers, including init containers and sidecars. The rules are drawn with random
 * numbers of their own, so that the rest of a scenario stays the same. Every version of a pod gets the same rules.
 */
export function withRestartRules(seed: number, actions: readonly Action[]): readonly Action[] {
  const draw = (pod: PodPlan): PodPlan => {
    const dice = diceOf(seed, pod.uid, 'rules');
    if (dice.chance(RESTART_ALL)) return withOne(dice, pod, restartingAll);
    return dice.chance(WITH_RULES) ? withOne(dice, pod, restarting) : pod;
  };
  return mapPods(actions, draw);
}

type Change = (dice: Dice, plan: ContainerPlan, isInit: boolean) => ContainerPlan;

function withOne(dice: Dice, { init, containers, ...pod }: PodPlan, change: Change): PodPlan {
  const nth = dice.between(0, init.length + containers.length - 1);
  return {
    ...pod,
    init: init.map((plan, index) => (index === nth ? change(dice, plan, plan.restartPolicy !== 'Always') : plan)),
    containers: containers.map((plan, index) => (index + init.length === nth ? change(dice, plan, false) : plan)),
  };
}

/**
 * Changes a container so that its exit restarts all containers once or twice. After that the container keeps running or
 * completes.
 */
function restartingAll(dice: Dice, plan: ContainerPlan, isInit: boolean): ContainerPlan {
  const exitCode = dice.between(1, 3);
  const bad = (): RunPlan => ({ exitAfterMs: dice.between(200, 15_000), exitCode });
  const last: RunPlan = isInit ? { exitAfterMs: dice.between(0, 3000) } : dice.chance(0.7) ? {} : { exitAfterMs: 9000 };
  const rule: RestartRulePlan = { action: 'RestartAllContainers', operator: 'In', codes: [exitCode] };
  const other: RestartRulePlan = { operator: 'In', codes: [dice.between(1, 3)] };
  return {
    ...withPolicy(dice, plan, isInit),
    runs: dice.chance(0.7) ? [bad(), last] : [bad(), bad(), last],
    // The kubelet applies only the first rule that matches, so the order of the rules matters.
    restartRules: dice.weighted<readonly RestartRulePlan[]>([
      [4, [rule]],
      [1, [rule, other]],
      [1, [other, rule]],
    ]),
  };
}

function restarting(dice: Dice, plan: ContainerPlan, isInit: boolean): ContainerPlan {
  const rule = (): RestartRulePlan =>
    dice.chance(0.6)
      ? { operator: 'In', codes: [dice.between(1, 3), 137] }
      : { operator: 'NotIn', codes: [0, dice.between(1, 3)] };
  return { ...withPolicy(dice, plan, isInit), restartRules: dice.chance(0.6) ? [rule()] : [rule(), rule()] };
}

/**
 * Sets a restart policy on the container, because restart rules require a policy. For init containers `Always` is
 * excluded, because this policy would make them sidecars.
 */
function withPolicy(dice: Dice, plan: ContainerPlan, isInit: boolean): ContainerPlan {
  const drawn = isInit
    ? dice.pick(['OnFailure', 'Never'] as const)
    : dice.pick(['Always', 'OnFailure', 'Never'] as const);
  return { ...plan, restartPolicy: plan.restartPolicy ?? drawn };
}
