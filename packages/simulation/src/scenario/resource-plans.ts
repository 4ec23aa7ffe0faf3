import type { Action, NodePlan } from './actions.ts';
import { type Dice, diceOf } from './dice.ts';
import type { ContainerPlan, CpuPlan, PodPlan } from './plans.ts';

/**
 * Smallest and largest CPU request of a container, in thousandths. A few containers with the largest request fill a
 * node.
 */
const CPU = { least: 50, most: 700 } as const;
/** Fraction of nodes with scarce resources, unless all nodes have them. */
const SCARCE_NODES = 0.3;
/** Fraction of pods that get an ephemeral container on nodes without scarce resources. */
const DEBUGGED = 0.1;

/**
 * Adds nodes with scarce resources, pods that request these resources and are resized, critical pods, ephemeral
 * containers, and temporary memory or disk pressure. Nodes, pods and shortages are drawn with random numbers of their
 * own, so that the rest of a scenario stays the same.
 * @param all if true, every node has scarce resources
 */
export function withResources(
  seed: number,
  node: NodePlan,
  actions: readonly Action[],
  all: boolean,
): { readonly node: NodePlan; readonly actions: readonly Action[] } {
  const dice = diceOf(seed, 'node', 'resources');
  if (!dice.chance(SCARCE_NODES) && !all) {
    return { node, actions: [...actions, ...actions.flatMap((action) => debugged(seed, action, DEBUGGED))] };
  }
  const resources = {
    cpuCount: dice.pick([1, 2, 4]),
    pressureTransitionMs: dice.pick([5000, 20_000, 60_000]),
    figuresEveryMs: dice.pick([0, 0, 15_000]),
  };
  const drawn = actions.map((action) => withCpu(seed, action));
  const ofPods = drawn.flatMap((action) => [...resized(seed, action, drawn), ...debugged(seed, action, 0.3)]);
  return { node: { ...node, resources }, actions: [...drawn, ...ofPods, ...ofNode(dice)] };
}

function withCpu(seed: number, action: Action): Action {
  if (action.do === 'writeManifest') return { ...action, pod: asking(seed, action.pod) };
  if (action.do === 'serve') return { ...action, pods: action.pods.map((pod) => asking(seed, pod)) };
  if (action.do !== 'apiCreate') return action;
  const pod = asking(seed, action.pod);
  const critical = diceOf(seed, pod.uid, 'critical').chance(0.2);
  return { ...action, pod: critical ? { ...pod, critical } : pod };
}

function asking(seed: number, pod: PodPlan): PodPlan {
  const dice = diceOf(seed, pod.uid, 'cpu');
  return dice.chance(0.8) ? { ...pod, cpu: drawCpu(dice, pod) } : pod;
}

function drawCpu(dice: Dice, { containers }: PodPlan): CpuPlan {
  return Object.fromEntries(containers.map(({ name }) => [name, dice.between(CPU.least, CPU.most)]));
}

/** Draws resizes of a running pod, by the API or by a rewritten manifest. */
function resized(seed: number, action: Action, all: readonly Action[]): readonly Action[] {
  if (action.do !== 'apiCreate' && action.do !== 'writeManifest') return [];
  const { pod, atMs } = action;
  if (pod.cpu === undefined) return [];
  const { name, uid } = pod;
  const dice = diceOf(seed, `${uid} ${action.do === 'writeManifest' ? atMs : ''}`, 'resize');
  const times = dice.weighted([
    [4, 0],
    [4, 1],
    [2, 3],
  ] as const);
  const done: Action[] = [];
  for (let n = 0; n < times; n++) {
    const thenMs = atMs + dice.between(200, 30_000);
    const cpu = drawCpu(dice, pod);
    if (action.do === 'apiCreate') done.push({ atMs: thenMs, do: 'apiResize', name, uid, cpu });
    else if (isLeft(action.file, atMs, thenMs, all)) {
      done.push({ atMs: thenMs, do: 'writeManifest', file: action.file, pod: { ...pod, cpu } });
    }
  }
  return done;
}

/** Reports whether no other action changes a manifest between two times. */
function isLeft(file: string, fromMs: number, toMs: number, all: readonly Action[]): boolean {
  return all.every((other) => !('file' in other) || other.file !== file || other.atMs <= fromMs || other.atMs > toMs);
}

function debugged(seed: number, action: Action, likely: number): readonly Action[] {
  if (action.do !== 'apiCreate') return [];
  const { pod, atMs } = action;
  const { name, uid } = pod;
  const dice = diceOf(seed, uid, 'debug');
  if (!dice.chance(likely)) return [];
  const exitAfterMs = dice.between(0, 20_000);
  const container: ContainerPlan = { name: 'debug', runs: [dice.chance(0.5) ? {} : { exitAfterMs }], version: 1 };
  return [{ atMs: atMs + dice.between(200, 30_000), do: 'apiDebug', name, uid, container }];
}

function ofNode(dice: Dice): readonly Action[] {
  const actions: Action[] = [];
  for (let n = dice.between(0, 2); n > 0; n--) {
    const of = dice.weighted([
      [2, 'memory'],
      [1, 'disk'],
    ] as const);
    const unused = of === 'disk' && dice.chance(0.4);
    actions.push({ atMs: dice.between(5000, 60_000), do: 'pressure', of, unused, forMs: dice.between(1000, 40_000) });
  }
  if (dice.chance(0.3)) {
    const fault = { kind: 'error', code: dice.pick(['UNAVAILABLE', 'UNKNOWN'] as const) } as const;
    const times = dice.between(1, 4);
    actions.push({
      atMs: dice.between(0, 60_000),
      do: 'rpcFault',
      rpc: 'updateContainerResources',
      fault,
      skip: 0,
      times,
    });
  }
  return actions;
}
