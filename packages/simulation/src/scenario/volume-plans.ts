import type { Action, NodePlan } from './actions.ts';
import { type Dice, diceOf } from './dice.ts';
import { killKubelet } from './faults.ts';
import { generatePod } from './generate-pod.ts';
import type { PodPlan } from './plans.ts';

/** A CSI driver of a simulated node. */
export interface CsiDriverPlan {
  readonly name: string;
  /** Whether a controller attaches the driver's volumes to the node. */
  readonly attach: boolean;
  /** Whether the driver stages volumes. */
  readonly stage: boolean;
  /** Whether volumes are published again at each sync of their pod. */
  readonly republish?: boolean;
}

/** A persistent volume of a CSI driver and its claim, which have the same name. */
export interface CsiVolumePlan {
  readonly name: string;
  readonly driver: string;
  readonly accessMode: 'ReadWriteOnce' | 'ReadWriteMany' | 'ReadWriteOncePod';
  /** Whether containers get the volume as a block device. */
  readonly block?: boolean;
}

/** The CSI drivers of a node, and the controller that attaches their volumes. */
export interface CsiPlan {
  readonly drivers: readonly CsiDriverPlan[];
  readonly volumes: readonly CsiVolumePlan[];
  /** Time that attaching and detaching take. */
  readonly attachMs: number;
}

/** Calls of a CSI driver that may have faults. */
export type CsiFaultCall = 'stage' | 'unstage' | 'publish' | 'unpublish' | 'expand';

/**
 * Fault of a driver's calls: `hang`: the call has no effect until the fault ends; `late`: the call takes effect, and
 * the driver does not respond until the fault ends; `final`: the call fails for good, without effect; `unsure`: the
 * call fails without effect, with a code after which the effect is unknown; `lost`: the call fails with such a code,
 * but takes effect; `diesBefore`, `diesAfter`: the driver's process dies in its next call, before or after the effect,
 * and starts again when the fault ends.
 */
export type CsiFaultKind = 'hang' | 'late' | 'final' | 'unsure' | 'lost' | 'diesBefore' | 'diesAfter';

const CLAIMING = 0.75;
const CALLS = ['stage', 'unstage', 'publish', 'unpublish', 'expand'] as const;

/**
 * Adds CSI drivers and volumes to a node in a cluster, pods that use them, and faults of drivers, of the controller
 * that attaches volumes, and of the machine. Drivers, volumes, pods and faults are drawn with random numbers of their
 * own, so that the rest of a scenario stays the same.
 */
export function withVolumes(
  seed: number,
  node: NodePlan,
  actions: readonly Action[],
  all: boolean,
): { readonly node: NodePlan; readonly actions: readonly Action[] } {
  if (!node.cluster || !all) return { node, actions };
  const dice = diceOf(seed, 'node', 'volumes');
  const csi = drawCsi(dice);
  const pods = drawPods(dice);
  const drawn = [...actions, ...pods].map((action) =>
    action.do === 'apiCreate' ? { ...action, pod: claiming(seed, csi, action.pod) } : action,
  );
  return { node: { ...node, csi }, actions: [...drawn, ...drawFaults(dice, csi), ...drawExpansions(dice, csi)] };
}

function drawCsi(dice: Dice): CsiPlan {
  const disk: CsiDriverPlan = { name: 'disk.csi.example.com', attach: true, stage: true };
  const share: CsiDriverPlan = {
    ...{ name: 'share.csi.example.com', attach: dice.chance(0.2), stage: dice.chance(0.5) },
    ...(dice.chance(0.3) && { republish: true }),
  };
  const drivers = [disk, share];
  const volumes = [
    { name: 'v0', driver: disk.name, accessMode: 'ReadWriteOnce' },
    { name: 'v1', driver: disk.name, accessMode: 'ReadWriteOncePod' },
    { name: 'v2', driver: disk.name, accessMode: 'ReadWriteOnce', block: true },
    { name: 'v3', driver: share.name, accessMode: 'ReadWriteMany' },
  ] as const;
  return { drivers, volumes, attachMs: dice.pick([50, 50, 1000, 8000] as const) };
}

/**
 * Draws pods that are added and removed, in addition to those of other scenarios, so that volumes are often shared and
 * reused.
 */
function drawPods(dice: Dice): readonly Action[] {
  return Array.from({ length: dice.between(1, 4) }, (_, n): readonly Action[] => {
    const pod = generatePod(dice, `c${n}`, `c${n}-u`);
    const atMs = dice.between(0, 40_000);
    const goesMs = atMs + dice.between(500, 30_000);
    const create: Action = { atMs, do: 'apiCreate', pod };
    if (dice.chance(0.3)) return [create];
    return [create, { atMs: goesMs, do: 'apiDelete', name: pod.name, uid: pod.uid, force: dice.chance(0.1) }];
  }).flat();
}

function claiming(seed: number, { volumes, drivers }: CsiPlan, pod: PodPlan): PodPlan {
  const dice = diceOf(seed, pod.uid, 'volumes');
  if (!dice.chance(CLAIMING)) return pod;
  const csi = volumes.filter(({ accessMode }) => dice.chance(accessMode === 'ReadWriteOncePod' ? 0.2 : 0.45));
  const inlineCsi = drivers.filter(() => dice.chance(0.15)).map(({ name }) => name);
  return { ...pod, ...(csi.length > 0 && { csi }), ...(inlineCsi.length > 0 && { inlineCsi }) };
}

function drawFaults(dice: Dice, { drivers }: CsiPlan): readonly Action[] {
  const actions: Action[] = [];
  for (let n = dice.between(0, 4); n > 0; n--) {
    const atMs = dice.between(0, 58_000);
    const { name: driver } = dice.pick(drivers as [CsiDriverPlan, ...CsiDriverPlan[]]);
    const forMs = dice.weighted([
      [4, dice.between(500, 20_000)],
      [1, dice.between(100_000, 200_000)],
    ]);
    const fault = (kind: CsiFaultKind): Action => ({
      ...{ atMs, do: 'csiFault', driver, call: dice.pick(CALLS), fault: kind, forMs },
    });
    actions.push(
      dice.weighted<() => Action>([
        [2, () => fault('hang')],
        [2, () => fault('late')],
        [2, () => fault('final')],
        [2, () => fault('unsure')],
        [2, () => fault('lost')],
        [2, () => fault('diesBefore')],
        [2, () => fault('diesAfter')],
        [3, () => ({ atMs, do: 'restartCsi', driver, downMs: dice.between(0, 20_000), clean: dice.chance(0.5) })],
        [1, () => ({ atMs, do: 'attacherAway', forMs: dice.between(1000, 30_000) })],
        [2, () => ({ atMs, do: 'powerFailure', downMs: dice.between(500, 10_000) })],
        [3, () => killKubelet(dice, atMs)],
        [1, () => ({ atMs, do: 'apiAway', forMs: dice.between(500, 20_000) })],
      ])(),
    );
  }
  return actions;
}

function drawExpansions(dice: Dice, { volumes }: CsiPlan): readonly Action[] {
  return volumes.flatMap(({ name: volume }): readonly Action[] =>
    dice.chance(0.2)
      ? [{ atMs: dice.between(5000, 50_000), do: 'expandVolume', volume, gibibytes: dice.between(2, 4) }]
      : [],
  );
}
