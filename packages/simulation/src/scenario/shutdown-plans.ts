import type { Action, NodePlan } from './actions.ts';
import { type Dice, diceOf } from './dice.ts';
import { killKubelet } from './faults.ts';
import { generatePod } from './generate-pod.ts';
import type { ContainerPlan, PodPlan } from './plans.ts';
import { mapPods } from './pods-of-actions.ts';

/** Configuration of the kubelet's shutdown grace period. Either `total` or `byPriority` is set. */
export interface ShutdownPlan {
  /** `shutdownGracePeriod` and `shutdownGracePeriodCriticalPods`, in seconds. */
  readonly total?: { readonly graceSeconds: number; readonly criticalSeconds: number };
  /** `shutdownGracePeriodByPodPriority`, in the order of the configuration file. */
  readonly byPriority?: readonly { readonly priority: number; readonly graceSeconds: number }[];
  /** logind's initial InhibitDelayMaxSec, before the kubelet raises it. */
  readonly inhibitDelaySeconds: number;
}

/** Fraction of nodes on a machine that shuts down. */
const NODES_THAT_SHUT_DOWN = 0.125;
const PRIORITIES = [0, 500, 1000, 2_000_000_000] as const;
/** No action happens after this time. */
const LAST_MS = 60_000;

/**
 * Adds machines that shut down or lose their power, pods of several priorities on them, and faults of the shutdown.
 * Machines, pods and faults are drawn with random numbers of their own, so that the rest of a scenario stays the same.
 * @param all if true, every node is on such a machine
 */
export function withShutdowns(
  seed: number,
  node: NodePlan,
  actions: readonly Action[],
  all: boolean,
): { readonly node: NodePlan; readonly actions: readonly Action[] } {
  const dice = diceOf(seed, 'node', 'shutdown');
  if (!dice.chance(NODES_THAT_SHUT_DOWN) && !all) return { node, actions };
  const shutdown = drawPlan(dice);
  const drawn = mapPods(actions, (pod) => prioritized(seed, pod));
  return {
    node: { ...node, shutdown },
    actions: [...drawn, ...drawEnds(dice, shutdown, (name, atMs) => newPod(seed, node, name, atMs))],
  };
}

function drawPlan(dice: Dice): ShutdownPlan {
  const inhibitDelaySeconds = dice.pick([5, 5, 60] as const);
  if (dice.chance(0.4)) {
    const graceSeconds = dice.pick([2, 6, 12, 30] as const);
    return {
      total: { graceSeconds, criticalSeconds: dice.pick([0, 1, 2, 6]) % (graceSeconds + 1) },
      inhibitDelaySeconds,
    };
  }
  const some = PRIORITIES.filter((priority) => priority === 0 || dice.chance(0.6));
  const byPriority = some.map((priority) => ({ priority, graceSeconds: dice.pick([0, 1, 3, 5, 10, 25] as const) }));
  // The list may also be written with the highest priority first.
  return { byPriority: dice.chance(0.5) ? byPriority : byPriority.toReversed(), inhibitDelaySeconds };
}

/** Adds a priority and hooks to a pod. Every version of a pod gets the same priority and hooks. */
function prioritized(seed: number, pod: PodPlan): PodPlan {
  const dice = diceOf(seed, pod.uid, 'shutdown');
  const more = dice.weighted<Partial<PodPlan>>([
    [3, {}],
    [1, { priority: -5 }],
    [1, { priority: 700 }],
    [2, { priority: 1000 }],
    [2, { critical: true }],
  ]);
  const containers = pod.containers.map((container): ContainerPlan => {
    return dice.chance(0.25)
      ? { ...container, preStopSeconds: dice.between(1, Math.min(6, pod.graceSeconds)) }
      : container;
  });
  return { ...pod, ...more, containers };
}

/** Draws one or two shutdowns or power losses, and the actions around them. */
function drawEnds(
  dice: Dice,
  plan: ShutdownPlan,
  newPod: (name: string, atMs: number) => readonly Action[],
): readonly Action[] {
  const actions: Action[] = [];
  const ends = dice.between(1, 3);
  let atMs = 0;
  for (let n = 1; n <= ends; n++) {
    atMs += dice.between(2000, 25_000);
    const [end, endsMs] = drawEnd(dice, plan, atMs);
    actions.push(end);
    const during = (): number => dice.between(atMs, endsMs);
    if (dice.chance(0.4)) actions.push(...newPod(`s${2 * n}`, during()));
    if (dice.chance(0.4)) actions.push(...newPod(`s${2 * n + 1}`, endsMs + dice.between(0, 3000)));
    if (dice.chance(0.25)) actions.push(killKubelet(dice, during()));
    if (dice.chance(0.25)) {
      const goesMs = dice.between(Math.max(0, atMs - 3000), endsMs);
      actions.push({
        atMs: goesMs,
        do: 'busAway',
        forMs: dice.chance(0.5) ? dice.between(1, 5000) : dice.between(1, 60_000),
      });
    }
    if (dice.chance(0.15)) actions.push({ atMs: dice.between(Math.max(0, atMs - 3000), endsMs), do: 'loseLock' });
    atMs = endsMs;
  }
  return actions;
}

/**
 * Draws a shutdown or a power loss.
 * @returns the action and the time at which it is over
 */
function drawEnd(dice: Dice, plan: ShutdownPlan, atMs: number): readonly [Action, number] {
  const downMs = dice.between(500, 10_000);
  const cancelled = dice.weighted([
    [2, dice.between(1, 1500)],
    [4, dice.between(1500, 40_000)],
    [2, dice.between(30_000, 90_000)],
  ]);
  // The shutdown lasts longer than the total grace period of all pods plus the time to detect their exit.
  const forMs = secondsOf(plan) * 1000 + dice.between(4000, 12_000);
  return dice.weighted<readonly [Action, number]>([
    [5, [{ atMs, do: 'shutdown', forMs: cancelled }, atMs + cancelled]],
    [4, [{ atMs, do: 'shutdown', forMs, downMs }, atMs + forMs]],
    [1, [{ atMs, do: 'powerFailure', downMs }, atMs + downMs]],
  ]);
}

function secondsOf({ total, byPriority = [] }: ShutdownPlan): number {
  return total?.graceSeconds ?? byPriority.reduce((sum, { graceSeconds }) => sum + graceSeconds, 0);
}

/** Draws a pod that is added around the time of a shutdown, as a manifest or in the API, and may be removed again. */
function newPod(seed: number, node: NodePlan, name: string, atMs: number): readonly Action[] {
  const dice = diceOf(seed, name, 'shutdown');
  const inApi = node.cluster === true && dice.chance(0.6);
  const pod = prioritized(seed, generatePod(dice, name, `${name}-u`));
  const goesMs = Math.max(LAST_MS, atMs + 1000);
  const goes = dice.chance(0.5);
  if (inApi) {
    const gone: Action = { atMs: goesMs, do: 'apiDelete', name, uid: pod.uid, force: false };
    return [{ atMs, do: 'apiCreate', pod }, ...(goes ? [gone] : [])];
  }
  const file = `${name}.yaml`;
  const gone: Action = { atMs: goesMs, do: 'removeManifest', file };
  return [{ atMs, do: 'writeManifest', file, pod }, ...(goes ? [gone] : [])];
}
