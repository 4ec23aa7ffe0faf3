import { seededRandom } from '@node-agent/async';
import type { Action, NodePlan } from './actions.ts';
import { Dice } from './dice.ts';
import { hashOf } from './hash.ts';
import type { ContainerPlan, CpuPlan, PodPlan } from './plans.ts';

/** What one container asks for: a few of them fill a node. */
const CPU = { least: 50, most: 700 } as const;

/**
 * Nodes of clusters that have little to give, pods that ask for some of it and are resized, pods that are critical, ephemeral
 * containers, and memory that is short for a while. As probes are, all of it is drawn by chance of its own: the rest of a scenario
 * does not depend on it.
 */
export function withResources(
  seed: number,
  node: NodePlan,
  actions: readonly Action[],
): { readonly node: NodePlan; readonly actions: readonly Action[] } {
  const dice = diceOf(seed, 'node', 'resources');
  if (!node.cluster || !dice.chance(0.5)) return { node, actions };
  const resources = {
    cpuCount: dice.pick([1, 2, 4]),
    pressureTransitionMs: dice.pick([5000, 20_000, 60_000]),
    figuresEveryMs: dice.pick([0, 0, 15_000]),
  };
  const drawn = actions.map((action) => withCpu(seed, action));
  return {
    node: { ...node, resources },
    actions: [...drawn, ...drawn.flatMap((action) => ofPod(seed, action)), ...ofNode(dice)],
  };
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

/** What is done to a pod of the API while it is there. */
function ofPod(seed: number, action: Action): readonly Action[] {
  if (action.do !== 'apiCreate') return [];
  const { pod, atMs } = action;
  const { name, uid } = pod;
  const dice = diceOf(seed, uid, 'resize');
  const resizes =
    pod.cpu === undefined
      ? 0
      : dice.weighted([
          [4, 0],
          [4, 1],
          [2, 3],
        ] as const);
  const done: Action[] = [];
  for (let n = 0; n < resizes; n++) {
    done.push({ atMs: atMs + dice.between(200, 30_000), do: 'apiResize', name, uid, cpu: drawCpu(dice, pod) });
  }
  if (dice.chance(0.3)) {
    const exitAfterMs = dice.between(0, 20_000);
    const container: ContainerPlan = { name: 'debug', runs: [dice.chance(0.5) ? {} : { exitAfterMs }], version: 1 };
    done.push({ atMs: atMs + dice.between(200, 30_000), do: 'apiDebug', name, uid, container });
  }
  return done;
}

function ofNode(dice: Dice): readonly Action[] {
  const actions: Action[] = [];
  for (let n = dice.between(0, 2); n > 0; n--) {
    actions.push({ atMs: dice.between(5000, 60_000), do: 'pressure', forMs: dice.between(1000, 40_000) });
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

function diceOf(seed: number, of: string, what: string): Dice {
  return new Dice(seededRandom(hashOf(`${seed} ${of} ${what}`)));
}
