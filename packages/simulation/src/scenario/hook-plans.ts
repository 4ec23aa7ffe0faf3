import type { Action } from './actions.ts';
import { type Dice, diceOf } from './dice.ts';
import type { ContainerPlan, HookRunPlan, PodPlan, PostStartPlan } from './plans.ts';
import { mapPods } from './pods-of-actions.ts';

/** Fraction of pods with `postStart` hooks, and fraction of the containers with a hook in those pods. */
const WITH_HOOKS = 0.15;
const HOOKED = 0.5;
const SHORT_MS = 1500;
const LATE_MS = 20_000;
/** Duration of a hanging hook: longer than any other wait of the kubelet during the start of a pod. */
const HANGS_MS = 90_000;

/**
 * Adds `postStart` hooks to some pods of the actions. The hooks are drawn with random numbers of their own, so that the
 * rest of a scenario stays the same. Every version of a pod gets the same hooks.
 */
export function withHooks(seed: number, actions: readonly Action[]): readonly Action[] {
  return mapPods(actions, (pod) => hooked(seed, pod));
}

function hooked(seed: number, pod: PodPlan): PodPlan {
  const dice = diceOf(seed, pod.uid, 'hooks');
  if (!dice.chance(WITH_HOOKS)) return pod;
  // At most one hook of a pod hangs, because each hanging hook delays the containers after it.
  let mayHang = dice.chance(0.3);
  const withDrawn = (container: ContainerPlan): ContainerPlan => {
    if (!dice.chance(HOOKED)) return container;
    const postStart = drawHook(dice, pod, mayHang);
    if (postStart.runs[0].takesMs === HANGS_MS) mayHang = false;
    return { ...container, postStart };
  };
  return {
    ...pod,
    // Regular init containers get no hooks, because they must exit before the next container starts. Sidecars get
    // hooks.
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
  // The API rejects a sleep that is longer than the grace period.
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
