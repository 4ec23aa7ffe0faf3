import type { Dice } from './dice.ts';
import type { ContainerPlan, PodPlan, RunPlan } from './plans.ts';

const GRACE_SECONDS = [2, 5, 10, 30] as const;

/** Returns a random pod. */
export function generatePod(dice: Dice, name: string, uid: string): PodPlan {
  const restartPolicy = dice.weighted<PodPlan['restartPolicy']>([
    [6, 'Always'],
    [2, 'OnFailure'],
    [2, 'Never'],
  ]);
  const init: ContainerPlan[] = [];
  const inits = dice.weighted([
    [6, 0],
    [3, 1],
    [2, 2],
    [1, 3],
  ]);
  for (let n = 0; n < inits; n++)
    init.push(dice.chance(0.4) ? sidecar(dice, `side${n}`) : initContainer(dice, `init${n}`));
  const containers: ContainerPlan[] = [];
  for (let n = dice.between(1, 3); n > 0; n--) containers.push(mainContainer(dice, `main${n}`, restartPolicy));
  return {
    name,
    uid,
    restartPolicy,
    graceSeconds: dice.pick(GRACE_SECONDS),
    ...(dice.chance(0.2) && { hostNetwork: true }),
    ...(dice.chance(0.3) && { emptyDir: true }),
    init,
    containers,
  };
}

/** Returns another version of a pod's main containers under the same UID. */
export function changePod(pod: PodPlan): PodPlan {
  return { ...pod, containers: pod.containers.map((container) => ({ ...container, version: container.version + 1 })) };
}

function stopping(dice: Dice): Partial<ContainerPlan> {
  return {
    ...(dice.chance(0.15) && { ignoreTerm: true }),
    ...(dice.chance(0.3) && { stopDelayMs: dice.between(1, 4000) }),
    ...(dice.chance(0.2) && { startDelayMs: dice.between(1, 3000) }),
  };
}

function sidecar(dice: Dice, name: string): ContainerPlan {
  const runs: RunPlan[] = dice.chance(0.3) ? [{ exitAfterMs: dice.between(0, 8000), exitCode: 1 }, {}] : [{}];
  return { name, runs, restartPolicy: 'Always', version: 1, ...stopping(dice) };
}

function initContainer(dice: Dice, name: string): ContainerPlan {
  const exitAfterMs = dice.between(0, 6000);
  const runs: RunPlan[] = [{ exitAfterMs }];
  if (dice.chance(0.25)) runs.unshift({ exitAfterMs, exitCode: 1 });
  return { name, runs, version: 1, ...stopping(dice) };
}

function mainContainer(dice: Dice, name: string, policy: PodPlan['restartPolicy']): ContainerPlan {
  const healthy: readonly RunPlan[] = [{}];
  const exitAfterMs = dice.between(0, 25_000);
  const runs = dice.weighted<readonly RunPlan[]>([
    [policy === 'Always' ? 6 : 2, healthy],
    [2, [{ exitAfterMs }]],
    [1, [{ exitAfterMs, exitCode: 1 }]],
    [2, [{ exitAfterMs, exitCode: dice.between(1, 3) }, { exitAfterMs: dice.between(0, 5000), exitCode: 2 }, {}]],
  ]);
  return {
    name,
    runs,
    version: 1,
    ...(dice.chance(0.1) && {
      restartPolicy: dice.pick(['Always', 'OnFailure', 'Never'] as const),
      ...(dice.chance(0.5) && {
        restartRule: { operator: dice.pick(['In', 'NotIn'] as const), codes: [dice.between(0, 3)] },
      }),
    }),
    ...(dice.chance(0.08) && { slowImage: true }),
    ...stopping(dice),
  };
}
