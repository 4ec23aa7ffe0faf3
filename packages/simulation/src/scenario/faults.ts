import type { EventFault, RpcFault, RpcName } from '@node-agent/fake-cri';
import { MANIFEST_DIRECTORY, POD_LOGS_DIRECTORY, ROOT_DIRECTORY } from '../world/world.ts';
import type { Action } from './actions.ts';
import type { Dice } from './dice.ts';

const READS = [
  'listPodSandbox',
  'listContainers',
  'podSandboxStatus',
  'containerStatus',
  'status',
  'version',
  'imageStatus',
  'getContainerEvents',
] as const;
const WRITES = [
  'runPodSandbox',
  'stopPodSandbox',
  'removePodSandbox',
  'createContainer',
  'startContainer',
  'stopContainer',
  'removeContainer',
  'pullImage',
] as const;

/** Faults of the machine and the kubelet, with their weights. */
export const FAULTS: readonly (readonly [number, (dice: Dice, atMs: number) => Action])[] = [
  [8, rpcFault],
  [1.5, eventFault],
  [1, fileFault],
  [1, manifestFault],
  [2, killContainer],
  [1, (dice, atMs) => ({ atMs, do: 'killSandbox', nth: dice.between(0, 9) })],
  [1.5, crashRuntime],
  [0.5, (dice, atMs) => ({ atMs, do: 'networkDown', forMs: dice.between(1, 20_000) })],
];

/** Actions that restart the kubelet or move its clock. */
export const RESTARTS: typeof FAULTS = [
  [5, killKubelet],
  [1, (dice, atMs) => ({ atMs, do: 'restartKubelet', downMs: dice.between(0, 3000) })],
  [0.5, (dice, atMs) => ({ atMs, do: 'jumpClock', ms: dice.pick([-3_600_000, -5000, 7000, 3_600_000, 86_400_000]) })],
];

function rpcFault(dice: Dice, atMs: number): Action {
  const rpc: RpcName = dice.chance(0.7) ? dice.pick(WRITES) : dice.pick(READS);
  return {
    atMs,
    do: 'rpcFault',
    rpc,
    fault: faultOf(dice),
    skip: dice.chance(0.6) ? 0 : dice.between(1, 5),
    times: dice.weighted([
      [6, 1],
      [2, 2],
      [1, 5],
    ]),
  };
}

function faultOf(dice: Dice): RpcFault {
  return dice.weighted<RpcFault>([
    [2, { kind: 'error', code: dice.pick(['UNAVAILABLE', 'UNKNOWN', 'INTERNAL', 'DEADLINE_EXCEEDED']) }],
    [2, { kind: 'delay', delayMs: dice.between(1, 20_000) }],
    [1, { kind: 'hang', timeoutMs: dice.chance(0.2) ? 120_000 : dice.between(1, 15_000) }],
    [3, { kind: 'lateSuccess', timeoutMs: dice.between(0, 8000), workDelayMs: dice.between(0, 25_000) }],
    [2, { kind: 'answerLost' }],
  ]);
}

function eventFault(dice: Dice, atMs: number): Action {
  return {
    atMs,
    do: 'eventFault',
    event: dice.pick(['*', 'created', 'started', 'stopped', 'deleted']),
    fault: dice.weighted<EventFault>([
      [1, { kind: 'drop' }],
      [1, { kind: 'duplicate' }],
      [1, { kind: 'delay', delayMs: dice.between(1, 10_000) }],
    ]),
    times: dice.between(1, 5),
  };
}

function fileFault(dice: Dice, atMs: number): Action {
  const fault = {
    atMs,
    do: 'fileFault',
    code: dice.pick(['ENOSPC', 'EIO'] as const),
    path: dice.pick([ROOT_DIRECTORY, `${ROOT_DIRECTORY}/pods`, POD_LOGS_DIRECTORY, '/var/log/containers']),
    forMs: dice.between(1, 20_000),
  } as const;
  const operations = ['mkdir', 'write', 'open', 'remove', 'readdir', 'rename', 'stat'] as const;
  return dice.chance(0.5) ? fault : { ...fault, operation: dice.pick(operations) };
}

/** Draws a fault of listing, reading or watching manifests. Writes by the simulated user still succeed. */
function manifestFault(dice: Dice, atMs: number): Action {
  return {
    atMs,
    do: 'fileFault',
    code: dice.pick(['EIO', 'EACCES']),
    operation: dice.pick(['readdir', 'stat', 'read', 'watch']),
    path: dice.chance(0.5) ? MANIFEST_DIRECTORY : `${MANIFEST_DIRECTORY}/p${dice.between(1, 5)}.yaml`,
    forMs: dice.between(1, 30_000),
  };
}

function killContainer(dice: Dice, atMs: number): Action {
  const oomKilled = dice.chance(0.2);
  // If the out-of-memory killer kills a process other than the container's first one, the container may exit with any
  // code.
  const exitCode = dice.pick(oomKilled ? [0, 137] : [0, 1, 137]);
  return { atMs, do: 'killContainer', nth: dice.between(0, 9), exitCode, oomKilled };
}

function crashRuntime(dice: Dice, atMs: number): Action {
  return {
    atMs,
    do: 'crashRuntime',
    downMs: dice.chance(0.2) ? dice.between(1, 90_000) : dice.between(1, 5000),
    lost: dice.pick(['none', 'half', 'all']),
  };
}

/** Draws a `kill -9` of the kubelet, usually in the middle of its work. */
export function killKubelet(dice: Dice, atMs: number): Action {
  return {
    atMs,
    do: 'killKubelet',
    afterCalls: dice.chance(0.3) ? 0 : dice.between(1, 40),
    effect: dice.pick(['before', 'after']),
    inFlight: dice.pick(['cancelled', 'completed']),
    downMs: dice.chance(0.7) ? dice.between(0, 2000) : dice.between(0, 20_000),
  };
}
