import type { Action, NodePlan } from './actions.ts';
import { type Dice, diceOf } from './dice.ts';
import type { PodPlan } from './plans.ts';
import { mapPods } from './pods-of-actions.ts';

/** A device plugin of a simulated node. The plugin's devices are named `d0`, `d1` and so on. */
export interface DevicePluginPlan {
  readonly resource: string;
  readonly count: number;
  /** Time until the plugin notices a new kubelet. */
  readonly registersAfterMs: number;
  /** Number of NUMA nodes over which the plugin's devices are spread. Default: devices have no NUMA node. */
  readonly numaNodes?: number;
  /** Whether the plugin requires PreStartContainer. */
  readonly preStart?: boolean;
}

/** Temporary fault of a plugin's Allocate. */
export type PluginFaultKind = 'hang' | 'error';

const RESOURCES = ['example.com/gpu', 'example.com/nic'] as const;
/** Fraction of nodes with devices, among the nodes without simulated resources. */
const NODES_WITH_DEVICES = 0.1;

/**
 * Adds one or two device plugins to some nodes, pods that request devices, and faults of the plugins and devices.
 * Plugins, pods and faults are drawn with random numbers of their own, so that the rest of a scenario stays the same.
 * @param all if true, every node has devices
 */
export function withDevices(
  seed: number,
  node: NodePlan,
  actions: readonly Action[],
  all: boolean,
): { readonly node: NodePlan; readonly actions: readonly Action[] } {
  const dice = diceOf(seed, 'node', 'devices');
  if (node.resources !== undefined || (!dice.chance(NODES_WITH_DEVICES) && !all)) return { node, actions };
  const devices = RESOURCES.slice(0, dice.between(1, 2)).map((resource) => ({
    ...{ resource, count: dice.between(1, 4), registersAfterMs: dice.pick([20, 20, 20, 3000] as const) },
    ...(dice.chance(0.3) && { preStart: true }),
  }));
  const drawn = mapPods(actions, (pod) => asking(seed, devices, pod));
  return { node: { ...node, devices }, actions: [...drawn, ...devices.flatMap((plugin) => ofPlugin(dice, plugin))] };
}

/** Adds device requests to a pod. Every version of a pod gets the same requests. */
function asking(seed: number, plugins: readonly DevicePluginPlan[], pod: PodPlan): PodPlan {
  const dice = diceOf(seed, pod.uid, 'devices');
  if (!dice.chance(0.6)) return pod;
  const devices: Record<string, Record<string, number>> = {};
  for (const { name } of [...pod.init, ...pod.containers]) {
    for (const { resource, count } of plugins) {
      if (!dice.chance(0.4)) continue;
      // Some pods request one device more than exist.
      const asked = dice.chance(0.1) ? count + 1 : dice.between(1, Math.min(count, 2));
      devices[name] = { ...devices[name], [resource]: asked };
    }
  }
  return Object.keys(devices).length === 0 ? pod : { ...pod, devices };
}

function ofPlugin(dice: Dice, { resource, count }: DevicePluginPlan): readonly Action[] {
  const actions: Action[] = [];
  for (let n = dice.between(0, 3); n > 0; n--) {
    const atMs = dice.between(1000, 60_000);
    actions.push(
      dice.weighted<() => Action>([
        [3, () => ({ atMs, do: 'deviceIll', resource, id: `d${dice.between(0, count - 1)}`, forMs: briefly(dice) })],
        [3, () => ({ atMs, do: 'restartPlugin', resource, downMs: dice.between(0, 20_000) })],
        [2, () => ({ atMs, do: 'pluginFault', resource, fault: 'hang', forMs: briefly(dice) })],
        [1, () => ({ atMs, do: 'pluginFault', resource, fault: 'error', forMs: briefly(dice) })],
      ])(),
    );
  }
  return actions;
}

function briefly(dice: Dice): number {
  return dice.between(1000, 40_000);
}
