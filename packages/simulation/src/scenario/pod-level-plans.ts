import { diceOf } from './dice.ts';
import type { NumaPlan, NumaPolicies, WholePlan } from './numa-plans.ts';
import { type ContainerPlan, isSidecar, type PodPlan } from './plans.ts';

const GATE = 0.35;
const POD_LEVEL = 0.6;
const MILLIS = 1000;

/**
 * Turns on the gate `PodLevelResourceManagers` in some policies. The gate has random numbers of its own, so that the
 * policies of a node without the gate stay the same. With the gate, the scope `pod` is drawn more often, because only
 * this scope gives CPUs and memory to a pod as a whole.
 */
export function withPodLevelGate(seed: number, numa: NumaPlan): NumaPlan {
  const dice = diceOf(seed, 'node', 'pod-level gate');
  const policies = numa.policies.map((one): NumaPolicies => {
    if (!dice.chance(GATE)) return one;
    const scope = dice.chance(0.5) ? 'pod' : one.scope;
    const topology = one.topology === 'none' && dice.chance(0.7) ? 'best-effort' : one.topology;
    return { ...one, scope, topology, podLevel: true };
  });
  return { ...numa, policies };
}

/**
 * Gives some pods resources of their own as a whole, if the node ever has the gate. Some containers of such a pod get a
 * part of these resources, and the other containers share the rest. Every version of a pod gets the same resources.
 */
export function podLevel(seed: number, numa: NumaPlan, pod: PodPlan): PodPlan {
  const { policies, hugePagesPerNode, threads } = numa;
  const dice = diceOf(seed, pod.uid, 'pod-level resources');
  if (!policies.some((one) => one.podLevel) || !dice.chance(POD_LEVEL)) return pod;
  const all = [...pod.init, ...pod.containers];
  const whole = Object.fromEntries(
    all.flatMap(({ name }) => {
      const own = ownResources(seed, pod.uid, name, hugePagesPerNode > 0);
      return own === undefined ? [] : [[name, own] as const];
    }),
  );
  const takesCores = threads > 1 && policies.some(({ cpuOptions }) => cpuOptions['full-pcpus-only'] === 'true');
  const step = takesCores && dice.chance(0.8) ? threads * MILLIS : MILLIS;
  const cpuMillis = peak(pod, whole, ({ cpuMillis: millis }) => millis);
  // Too few CPUs, too little memory or too few huge pages for the containers without resources make the kubelet reject
  // the pod.
  const moreMillis = dice.weighted([
    [8, MILLIS],
    [3, 2 * MILLIS],
    [1, 0],
  ]);
  const total = Math.max(step, Math.ceil((cpuMillis + moreMillis) / step) * step);
  const memoryMi = peak(pod, whole, (own) => own.memoryMi);
  const hugePages = peak(pod, whole, ({ hugePages: pages = 0 }) => pages);
  const moreMi = dice.weighted([
    [6, 16],
    [6, 64],
    [1, 0],
  ]);
  return {
    ...pod,
    whole,
    podLevel: {
      // A fraction of a CPU makes all containers of the pod use the shared CPUs of the node.
      cpuMillis: dice.chance(0.06) ? total + MILLIS / 2 : total,
      memoryMi: Math.max(16, memoryMi + moreMi),
      ...(hugePages > 0 && { hugePages: hugePages + (dice.chance(0.9) ? 2 : 0) }),
    },
  };
}

/** Returns the resources that a container of a pod with pod-level resources requests; `undefined` for none. */
function ownResources(seed: number, uid: string, name: string, hasHugePages: boolean): WholePlan | undefined {
  const dice = diceOf(seed, uid, name, 'pod-level resources');
  if (dice.chance(0.5)) return undefined;
  return {
    cpuMillis: dice.chance(0.2) ? 500 : MILLIS * dice.between(1, 2),
    memoryMi: dice.pick([16, 64] as const),
    ...(hasHugePages && dice.chance(0.15) && { hugePages: dice.between(1, 4) }),
  };
}

/** Returns the largest amount that containers of the pod request at the same time. */
function peak(pod: PodPlan, whole: Readonly<Record<string, WholePlan>>, amount: (own: WholePlan) => number): number {
  const of = ({ name }: ContainerPlan): number => {
    const own = whole[name];
    return own === undefined ? 0 : amount(own);
  };
  let sidecars = 0;
  let most = 0;
  for (const container of pod.init) {
    if (isSidecar(pod, container.name)) sidecars += of(container);
    else most = Math.max(most, sidecars + of(container));
  }
  return Math.max(
    most,
    pod.containers.reduce((sum, container) => sum + of(container), sidecars),
  );
}
