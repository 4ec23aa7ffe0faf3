import { sleep } from '@node-agent/async';
import { STATE_FILES } from './facts/numa-facts.ts';
import type { SimulatedNode } from './node/simulated-node.ts';
import type { Happening } from './observation.ts';
import { powerFails, powerOff, powerOn, shutDown } from './power.ts';
import type { Action } from './scenario/actions.ts';
import { devicePath, FOREIGN_DIRECTORY, manifestOf, manifestOfAll } from './scenario/manifest.ts';
import { writeHostile } from './world/hostile-writer.ts';
import { MANIFEST_DIRECTORY, type World } from './world/world.ts';

/** Time after which a user retries a change of a file that a disk fault has prevented. */
const RETRY_MS = 1000;

/** The parts of a simulation on which actions are performed. */
export interface Stage {
  readonly world: World;
  readonly node: SimulatedNode;
  readonly tell: (happening: Happening) => void;
}

/** Performs an action immediately. Faults end by timers of the world's clock. */
export async function perform(action: Action, stage: Stage): Promise<void> {
  const { world, node } = stage;
  const { fs, runtime, clock } = world;
  switch (action.do) {
    case 'writeManifest':
      return fs.writeFileAtomic(`${MANIFEST_DIRECTORY}/${action.file}`, manifestOf(action.pod));
    case 'breakManifest':
      return fs.writeFile(`${MANIFEST_DIRECTORY}/${action.file}`, action.content);
    case 'removeManifest':
      return fs.removeAll(`${MANIFEST_DIRECTORY}/${action.file}`);
    case 'serve':
      return world.serve(manifestOfAll(action.pods));
    case 'serveError':
      return world.failServing(action.status, action.forMs);
    case 'rpcFault': {
      const { rpc, fault, skip, times } = action;
      runtime.faults.add({ rpc, fault, skip, times });
      return;
    }
    case 'eventFault':
      runtime.faults.add({ event: action.event, fault: action.fault, times: action.times });
      return;
    case 'fileFault': {
      const { code, operation, path, forMs } = action;
      const times = Number.POSITIVE_INFINITY;
      const injected = fs.injectFault({ code, path, times, ...(operation && { operation }) });
      clock.setTimer(forMs, () => injected.remove());
      return;
    }
    case 'killContainer':
      return killContainer(stage, action);
    case 'killSandbox':
      return killSandbox(stage, action.nth);
    case 'removeRecords':
      return removeRecords(stage);
    case 'crashRuntime':
      return crashRuntime(stage, action);
    case 'hostileFiles': {
      const runs = world.ledger.live.some(({ podUid }) => podUid === action.uid);
      // Injected disk faults also affect containers.
      if (runs) await writeHostile(fs, action.uid, action.what).catch(() => {});
      return;
    }
    case 'hangForeign': {
      const hang = fs.injectFault({ code: 'EIO', path: FOREIGN_DIRECTORY, hangs: true });
      clock.setTimer(action.forMs, () => hang.remove());
      return;
    }
    case 'networkDown':
      runtime.setCondition('NetworkReady', false, 'NetworkPluginNotReady', 'cni plugin not initialized');
      clock.setTimer(action.forMs, () => runtime.setCondition('NetworkReady', true));
      return;
    case 'killKubelet': {
      const restart = (): void => void clock.setTimer(action.downMs, () => node.start());
      if (action.afterCalls > 0) return node.planKill(action, action.inFlight, restart);
      node.kill(action.inFlight);
      return restart();
    }
    case 'restartKubelet':
      node.stop();
      // Kills the kubelet, like a service manager, if the kubelet still runs when it is due to be started again.
      clock.setTimer(action.downMs, () => {
        node.kill('cancelled');
        node.start();
      });
      return;
    case 'apiCreate':
      return world.api?.create(action.pod, () => stage.tell({ kind: 'podCreated', pod: action.pod }));
    case 'apiBroken':
      return world.api?.putBroken(action.kind);
    case 'apiDelete':
      return world.api?.delete(action, () => {
        const { uid, graceSeconds } = action;
        stage.tell({ kind: 'podDeleted', uid, ...(graceSeconds !== undefined && { graceSeconds }) });
      });
    case 'apiGate':
      return world.api?.openGate(action.name);
    case 'apiDeleteMirror':
      return world.api?.delete({ name: action.name }, () => {});
    case 'apiAway':
      world.api?.server.refuseConnections();
      clock.setTimer(action.forMs, () => apiBack(stage));
      return;
    case 'apiFaults':
      world.api?.strike(action.requests, action.watches);
      clock.setTimer(action.forMs, () => {
        world.api?.cure();
        stage.tell({ kind: 'apiCured', what: 'faults' });
      });
      return;
    case 'apiCompact':
      world.api?.server.compact();
      world.api?.server.endWatches('end');
      return;
    case 'apiWipe':
      return world.api?.wipe();
    case 'apiStale':
      world.api?.lag(action.behind);
      clock.setTimer(action.forMs, () => {
        world.api?.lag(0);
        stage.tell({ kind: 'apiCured', what: 'stale' });
      });
      return;
    case 'apiPut':
      return world.api?.putObject(action.object, action.version, () =>
        stage.tell({ kind: 'objectChanged', object: action.object, version: action.version }),
      );
    case 'apiRemove':
      return world.api?.removeObject(action.object, () =>
        stage.tell({ kind: 'objectChanged', object: action.object, version: undefined }),
      );
    case 'apiResize':
      return world.api?.resize(action.name, action.uid, action.cpu, () =>
        stage.tell({ kind: 'podResized', uid: action.uid, cpu: action.cpu }),
      );
    case 'draFault':
      world.dra?.misbehave(action.call, action.fault);
      clock.setTimer(action.forMs, () => world.dra?.misbehave(action.call, undefined));
      return;
    case 'restartDra':
      world.dra?.kill(action.clean);
      clock.setTimer(action.downMs, () => void world.dra?.start());
      return;
    case 'apiResizeWhole':
      return world.api?.resizeWhole(action.name, action.uid, action.container, action.whole);
    case 'changePolicies':
      return changePolicies(stage, action.downMs);
    case 'apiDebug':
      return world.api?.debug(action.name, action.uid, action.container);
    case 'diskFault':
      world.disks.misbehave(devicePath(action.disk), action.fault);
      clock.setTimer(action.forMs, () => world.disks.misbehave(devicePath(action.disk), undefined));
      return;
    case 'lowOn':
      return world.pressure?.beginLow(action.of, action.forMs);
    case 'pressure':
      return world.beginPressure(action.of, action.forMs, action.unused);
    case 'deviceIll':
      world.devicePlugins?.setHealth(action.resource, action.id, false);
      clock.setTimer(action.forMs, () => world.devicePlugins?.setHealth(action.resource, action.id, true));
      return;
    case 'restartPlugin':
      world.devicePlugins?.kill(action.resource);
      clock.setTimer(action.downMs, () => void world.devicePlugins?.restart(action.resource));
      return;
    case 'pluginFault':
      world.devicePlugins?.misbehave(action.resource, action.fault);
      clock.setTimer(action.forMs, () => world.devicePlugins?.misbehave(action.resource, undefined));
      return;
    case 'csiFault':
      world.csi?.misbehave(action.driver, action.call, action.fault);
      clock.setTimer(action.forMs, () => world.csi?.misbehave(action.driver, action.call, undefined));
      return;
    case 'restartCsi':
      world.csi?.kill(action.driver, action.clean);
      clock.setTimer(action.downMs, () => void world.csi?.restart(action.driver));
      return;
    case 'attacherAway':
      world.attacher?.setAway(true);
      clock.setTimer(action.forMs, () => world.attacher?.setAway(false));
      return;
    case 'expandVolume':
      return world.api?.expandVolume(action.volume, action.gibibytes);
    case 'shutdown':
      return shutDown(stage, action);
    case 'powerFailure':
      return powerFails(stage, action.downMs);
    case 'busAway':
      world.login?.busGoes();
      clock.setTimer(action.forMs, () => world.login?.busComes());
      return;
    case 'loseLock':
      return world.login?.loseLocks();
    case 'jumpClock':
      return clock.jumpWallClock(action.ms);
  }
}

/**
 * Powers the machine off. The next kubelet of the machine has the next policies, and no state files of the previous
 * policies.
 */
async function changePolicies(stage: Stage, downMs: number): Promise<void> {
  const { world, tell } = stage;
  if (world.off) return;
  powerOff(stage, downMs);
  world.policyChanges++;
  tell({ kind: 'policiesChanged' });
  for (const file of STATE_FILES) await removeSurely(world, file);
}

/** Removes a file as soon as the disk allows it. */
async function removeSurely({ fs, clock }: World, path: string): Promise<void> {
  for (;;) {
    try {
      return await fs.removeAll(path);
    } catch {
      await sleep(clock, RETRY_MS);
    }
  }
}

function apiBack({ world, tell }: Stage): void {
  world.api?.server.acceptConnections();
  tell({ kind: 'apiCured', what: 'away' });
}

/**
 * Ends every fault and starts everything that is down. The runtime is restarted, because only a restart removes leaked
 * tasks.
 */
export function endFaults({ world, node, tell }: Stage): void {
  world.runtime.faults.clear();
  world.leaksOver = true;
  world.pressure?.end();
  world.disks.cure();
  world.login?.busComes();
  world.login?.cancel();
  powerOn({ world, node, tell });
  void world.devicePlugins?.cure();
  void world.csi?.cure();
  void world.dra?.cure();
  world.attacher?.setAway(false);
  world.runtime.setCondition('NetworkReady', true);
  if (!world.runtime.down && world.runtime.hasLeakedTasks) {
    world.runtime.crash();
    tell({ kind: 'runtimeDown' });
  }
  if (world.runtime.down) {
    world.runtime.recover();
    tell({ kind: 'runtimeUp' });
  }
  node.start();
}

function killContainer({ world }: Stage, { nth, exitCode, oomKilled }: Extract<Action, { do: 'killContainer' }>): void {
  const live = world.runtime.liveContainers();
  const victim = live[nth % Math.max(live.length, 1)];
  if (victim === undefined) return;
  world.ledger.markLost(victim.id, exitCode, oomKilled);
  world.runtime.killContainer(victim.id, { exitCode, oomKilled });
}

function killSandbox({ world, tell }: Stage, nth: number): void {
  const ids = [...new Set(world.runtime.liveContainers().map(({ sandboxId }) => sandboxId))];
  const id = ids[nth % Math.max(ids.length, 1)];
  if (id === undefined) return;
  world.runtime.killSandbox(id);
  tell({ kind: 'sandboxLost', id });
}

function removeRecords({ world, tell }: Stage): void {
  for (const { id, podUid, name } of world.runtime.forgetDeadContainers())
    tell({ kind: 'recordRemoved', id, podUid, name });
}

function crashRuntime({ world, tell }: Stage, { downMs, lost }: Extract<Action, { do: 'crashRuntime' }>): void {
  if (world.runtime.down) return;
  world.runtime.crash();
  tell({ kind: 'runtimeDown' });
  world.clock.setTimer(downMs, () => {
    if (!world.runtime.down || world.off) return;
    let n = 0;
    world.runtime.recover({
      died: ({ id }) => {
        const dies = lost === 'all' || (lost === 'half' && n++ % 2 === 0);
        if (dies) world.ledger.markLost(id, 255);
        return dies;
      },
    });
    tell({ kind: 'runtimeUp' });
  });
}
