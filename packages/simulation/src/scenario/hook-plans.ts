import type { Action } from './actions.ts';
import { type Dice, diceOf } from './dice.ts';
import type { ContainerPlan, HookRunPlan, PodPlan, PostStartPlan } from './plans.ts';
import { mapPods } from './pods-of-actions.ts';

/** How many pods have `postStart` hooks, and how many of their containers. */
const WITH_HOOKS = 0.15;
const HOOKED = 0.5;
const SHORT_MS = 1500;
const LATE_MS = 20_000;
/** Longer than all that is waited for beside it. */
const HANGS_MS = 90_000;

/**
 * The actions with `postStart` hooks for some of their pods. As probes are, they are drawn by chance of their own: the rest of a scenario
 * does not depend on them, and every version of a pod has the same.
 */
export function withHooks(seed: number, actions: readonly Action[]): readonly Action[] {
  return mapPods(actions, (pod) => hooked(seed, pod));
}

function hooked(seed: number, pod: PodPlan): PodPlan {
  const dice = diceOf(seed, pod.uid, 'hooks');
  if (!dice.chance(WITH_HOOKS)) return pod;
  // No more than one of a pod's hangs: each holds up those after it.
  let mayHang = dice.chance(0.3);
  const withDrawn = (container: ContainerPlan): ContainerPlan => {
    if (!dice.chance(HOOKED)) return container;
    const postStart = drawHook(dice, pod, mayHang);
    if (postStart.runs[0].takesMs === HANGS_MS) mayHang = false;
    return { ...container, postStart };
  };
  return {
    ...pod,
    // Those that are to end before the next one starts have none.
    init: pod.init.map((one) => (one.restartPolicy === 'Always' ? withDrawn(one) : one)),
    containers: pod.containers.map(withDrawn),
  };
}

function drawHook(dice: Dice, { graceSeconds }: PodPlan, mayHang: boolean): PostStartPlan {
  const by = dice.weighted<PostStartPlan['by']>([
    [3, 'exec'],
    [3, 'httpGet'],
    [2, 'sleep'],
  ]);
  // The API has no sleep that is longer than the grace period.
  if (by === 'sleep') return { by, runs: [{ takesMs: dice.between(1, Math.min(12, graceSeconds)) * 1000 }] };
  const short = (): HookRunPlan => ({ takesMs: dice.between(0, SHORT_MS) });
  const drawn = dice.weighted<() => PostStartPlan['runs']>([
    [4, () => [short()]],
    [2, () => [{ takesMs: dice.between(SHORT_MS, LATE_MS) }, short()]],
    [3, () => [{ ...short(), fails: true }, short()]],
    [1, () => [{ ...short(), fails: true }, { ...short(), fails: true }, short()]],
    [1, () => [{ ...short(), fails: true }]],
    [1, () => [{ takesMs: dice.between(SHORT_MS, LATE_MS), fails: true }, short()]],
    [mayHang ? 6 : 0, () => [{ takesMs: HANGS_MS }, short()]],
  ]);
  return { by, runs: drawn() };
}
