import type { SimulatedNode } from './node/simulated-node.ts';
import type { Happening } from './observation.ts';
import { ROOT_DIRECTORY, type World } from './world/world.ts';

interface Stage {
  readonly world: World;
  readonly node: SimulatedNode;
  readonly tell: (happening: Happening) => void;
}

/** Time from the release of the last inhibitor lock to power-off. */
const GOES_DOWN_MS = 200;

/**
 * Starts a shutdown. Without `downMs`, the shutdown is cancelled after `forMs`. With `downMs`, the machine powers off
 * for `downMs` when no lock delays the shutdown any more, at the latest after `forMs`.
 */
export function shutDown(stage: Stage, { forMs, downMs }: { readonly forMs: number; readonly downMs?: number }): void {
  const { world } = stage;
  const { login, clock } = world;
  if (login === undefined || login.preparing || world.off) return;
  const number = login.shutdowns + 1;
  const ifStill = (then: () => void): void => {
    if (login.preparing && login.shutdowns === number) then();
  };
  const goDown = (): void => ifStill(() => powerOff(stage, downMs ?? 0));
  login.begin(() => {
    if (downMs !== undefined) clock.setTimer(GOES_DOWN_MS, goDown);
  });
  clock.setTimer(forMs, downMs === undefined ? () => ifStill(() => login.cancel()) : goDown);
}

/**
 * Cuts the power of the machine. In addition to {@link powerOff}, everything that the kubelet has not synced to its disk is
 * lost.
 */
export function powerFails(stage: Stage, downMs: number): void {
  const { world } = stage;
  if (world.off) return;
  powerOff(stage, downMs);
  world.fs.powerLoss(ROOT_DIRECTORY);
}

/** Powers off the machine: all processes and all kernel state are lost, and only the disk keeps its content. */
export function powerOff(stage: Stage, downMs: number): void {
  const { world, node, tell } = stage;
  const { runtime, ledger, mounter, cgroups, login, clock, csi, dra, loops } = world;
  if (world.off) return;
  world.off = true;
  node.kill('cancelled');
  for (const { id } of ledger.live) ledger.markLost(id, 255);
  if (!runtime.down) tell({ kind: 'runtimeDown' });
  for (const id of runtime.powerOff()) tell({ kind: 'sandboxLost', id });
  mounter.reboot();
  loops.reboot();
  void csi?.powerOff();
  dra?.powerOff();
  tell({ kind: 'poweredOff' });
  cgroups?.reboot();
  void login?.reboot();
  clock.setTimer(downMs, () => powerOn(stage));
}

/** Powers on the machine if it is off. */
export function powerOn({ world, node, tell }: Stage): void {
  if (!world.off) return;
  world.off = false;
  void world.csi?.start();
  void world.dra?.start();
  world.runtime.recover();
  tell({ kind: 'runtimeUp' });
  node.start();
}
