import type { Action, NodePlan } from './actions.ts';
import { type Dice, diceOf } from './dice.ts';
import { generatePod } from './generate-pod.ts';
import type { PodPlan } from './plans.ts';
import { podLevel, withPodLevelGate } from './pod-level-plans.ts';
import { mapPods } from './pods-of-actions.ts';

/** Policies of the CPU, memory and topology managers. */
export interface NumaPolicies {
  readonly cpu: 'none' | 'static';
  readonly cpuOptions: Readonly<Record<string, string>>;
  readonly memory: 'None' | 'Static';
  readonly topology: 'none' | 'best-effort' | 'restricted' | 'single-numa-node';
  readonly scope: 'container' | 'pod';
  /** Gate `PodLevelResourceManagers`. Default: off. */
  readonly podLevel?: boolean;
}

/** CPUs and memory of a machine, and the policies by which containers get CPUs and memory. */
export interface NumaPlan {
  readonly numaNodes: number;
  readonly sockets: number;
  readonly coresPerNode: number;
  /** Number of hardware threads per core. */
  readonly threads: number;
  /** CPUs that are offline. CPU 0 is never offline, because it is reserved for the system. */
  readonly offline: readonly number[];
  readonly memoryMiPerNode: number;
  /** Number of huge pages of 2 MiB on each NUMA node. */
  readonly hugePagesPerNode: number;
  /** Policies of the first kubelet, and of kubelets after each change of policies. */
  readonly policies: readonly NumaPolicies[];
}

/** Resources of a container in a pod of QoS class Guaranteed, or of such a pod as a whole. */
export interface WholePlan {
  readonly cpuMillis: number;
  readonly memoryMi: number;
  /** Number of huge pages of 2 MiB. Default: 0. */
  readonly hugePages?: number;
}

const GUARANTEED = 0.65;

/**
 * Adds NUMA nodes and policies to a node, pods that get CPUs and memory of their own, resizes, and changes of the
 * policies. Nodes, pods and changes are drawn with random numbers of their own, so that the rest of a scenario stays
 * the same.
 */
export function withNuma(
  seed: number,
  node: NodePlan,
  actions: readonly Action[],
  all: boolean,
): { readonly node: NodePlan; readonly actions: readonly Action[] } {
  if (!all) return { node, actions };
  const dice = diceOf(seed, 'node', 'numa');
  const numa = withPodLevelGate(seed, drawNuma(dice));
  const drawn = mapPods([...actions, ...drawPods(dice)], (pod) => podLevel(seed, numa, guaranteed(seed, numa, pod)));
  const changes = numa.policies.slice(1).map((): Action => {
    return { atMs: dice.between(15_000, 55_000), do: 'changePolicies', downMs: dice.between(500, 8000) };
  });
  const devices = node.devices?.map((plugin) => ({ ...plugin, numaNodes: numa.numaNodes }));
  return {
    node: { ...node, numa, ...(devices && { devices }) },
    actions: [...drawn, ...changes, ...drawn.flatMap((action) => resized(seed, action))],
  };
}

function drawNuma(dice: Dice): NumaPlan {
  const numaNodes = dice.pick([1, 2, 2, 2, 4, 8] as const);
  const sockets = numaNodes > 1 && dice.chance(0.3) ? numaNodes / 2 : numaNodes;
  const coresPerNode = dice.between(numaNodes === 1 ? 3 : 1, 4);
  const threads = dice.pick([1, 2, 2] as const);
  const cpus = numaNodes * coresPerNode * threads;
  const offline = cpus > 4 && dice.chance(0.3) ? [dice.between(1, cpus - 1)] : [];
  const policies = Array.from({ length: dice.chance(0.25) ? 2 : 1 }, () => drawPolicies(dice, sockets > numaNodes));
  return {
    ...{ numaNodes, sockets, coresPerNode, threads, offline, policies },
    ...{ memoryMiPerNode: dice.pick([512, 1024, 4096] as const), hugePagesPerNode: dice.pick([0, 32] as const) },
  };
}

function drawPolicies(dice: Dice, manySockets: boolean): NumaPolicies {
  const topology = dice.pick(['none', 'best-effort', 'restricted', 'single-numa-node'] as const);
  const cpu = dice.chance(0.9) ? 'static' : 'none';
  const option = dice.weighted([
    [4, undefined],
    [2, 'full-pcpus-only'],
    [1, 'distribute-cpus-across-numa'],
    [topology === 'single-numa-node' || manySockets ? 0 : 1, 'align-by-socket'],
    [1, 'distribute-cpus-across-cores'],
    [1, 'prefer-align-cpus-by-uncorecache'],
  ]);
  const strict = dice.chance(0.3);
  const cpuOptions = {
    ...(option !== undefined && { [option]: 'true' }),
    ...(strict && { 'strict-cpu-reservation': 'true' }),
  };
  return {
    ...{ cpu, topology, cpuOptions: cpu === 'static' ? cpuOptions : {} },
    ...{ memory: dice.chance(0.5) ? 'Static' : 'None', scope: dice.pick(['container', 'container', 'pod'] as const) },
  };
}

/** Draws pods that are added and removed, in addition to those of other scenarios, so that CPUs are often reused. */
function drawPods(dice: Dice): readonly Action[] {
  return Array.from({ length: dice.between(1, 4) }, (_, n): readonly Action[] => {
    const pod = generatePod(dice, `g${n}`, `g${n}-u`);
    const atMs = dice.between(0, 40_000);
    const create: Action = { atMs, do: 'apiCreate', pod };
    if (dice.chance(0.3)) return [create];
    const goesMs = atMs + dice.between(500, 30_000);
    return [create, { atMs: goesMs, do: 'apiDelete', name: pod.name, uid: pod.uid, force: dice.chance(0.1) }];
  }).flat();
}

/** Makes a pod Guaranteed. Every version of a pod gets the same resources. */
function guaranteed(
  seed: number,
  { numaNodes, coresPerNode, threads, hugePagesPerNode }: NumaPlan,
  pod: PodPlan,
): PodPlan {
  const dice = diceOf(seed, pod.uid, 'numa');
  if (!dice.chance(GUARANTEED)) return pod;
  const most = Math.max(1, Math.min(4, Math.floor((numaNodes * coresPerNode * threads) / 3)));
  const whole = [...pod.init, ...pod.containers].map(({ name }): [string, WholePlan] => [
    name,
    {
      cpuMillis: dice.chance(0.2) ? 500 : 1000 * dice.between(1, most),
      memoryMi: dice.pick([16, 64, 300] as const),
      ...(hugePagesPerNode > 0 && dice.chance(0.15) && { hugePages: dice.between(1, 8) }),
    },
  ]);
  return { ...pod, whole: Object.fromEntries(whole) };
}

/** Draws resizes of Guaranteed pods without pod-level resources. */
function resized(seed: number, action: Action): readonly Action[] {
  if (action.do !== 'apiCreate' || action.pod.whole === undefined || action.pod.podLevel !== undefined) return [];
  const { name, uid, containers, whole } = action.pod;
  const dice = diceOf(seed, uid, 'numa resize');
  const [first] = containers;
  const now = whole[first?.name ?? ''];
  if (!dice.chance(0.2) || first === undefined || now === undefined) return [];
  const more = { ...now, cpuMillis: now.cpuMillis + 1000 };
  return [
    {
      atMs: action.atMs + dice.between(500, 20_000),
      do: 'apiResizeWhole',
      name,
      uid,
      container: first.name,
      whole: more,
    },
  ];
}
