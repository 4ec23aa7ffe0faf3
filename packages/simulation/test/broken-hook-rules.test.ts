import { ContainerState } from '@node-agent/cri-client';
import type { Pod } from '@node-agent/pod-spec';
import type { Action, ContainerPlan, Decorations, PodPlan, PostStartPlan, Scenario } from '../src/index.ts';
import { type Cri, changed, healthy, noSandboxDuring, quietNode, seenBroken, steps } from './mutants.ts';

/** A pod with two containers, the first of which has this hook. */
function hooked(postStart: PostStartPlan): PodPlan {
  const main: ContainerPlan = { name: 'main', runs: [{}], version: 1, postStart };
  return { ...healthy, graceSeconds: 10, containers: [main, { name: 'two', runs: [{}], version: 1 }] };
}

function comes(pod: PodPlan, atMs = 100): Action {
  return { atMs, do: 'writeManifest', file: `${pod.name}.yaml`, pod };
}

function scenario(...actions: readonly Action[]): Scenario {
  return { ...quietNode, actions };
}

const byExec: PostStartPlan = { by: 'exec', runs: [{ takesMs: 5000 }] };
const byRequest: PostStartPlan = { by: 'httpGet', runs: [{ takesMs: 5000 }] };
const bySleep: PostStartPlan = { by: 'sleep', runs: [{ takesMs: 5000 }] };
const failing: PostStartPlan = { by: 'exec', runs: [{ takesMs: 500, fails: true }, { takesMs: 500 }] };
const alwaysFailing: PostStartPlan = { by: 'httpGet', runs: [{ takesMs: 500, fails: true }] };
const hanging: PostStartPlan = { by: 'exec', runs: [{ takesMs: 60_000 }] };

const comesAndGoes = scenario(comes(hooked(bySleep)), { atMs: 20_000, do: 'removeManifest', file: 'p1.yaml' });
const hasNeighbour = scenario(comes(hooked(hanging)), comes({ ...healthy, name: 'p2', uid: 'u2' }, 5000));
const inCluster: Scenario = {
  ...scenario(comes(hooked(byRequest))),
  node: { ...quietNode.node, cluster: true },
};

const NOTHING = new Uint8Array();

/** Gives the kubelet the result of a command immediately, while the command is still running. */
function hasty(exitCode = 0): Decorations {
  return {
    cri: (cri) =>
      changed(cri, {
        execSync: async (request) => {
          void cri.execSync(request);
          return { exitCode, stdout: NOTHING, stderr: NOTHING };
        },
      }),
  };
}

/** Hides the hooks of pods from the kubelet. */
function withoutHooks(): Decorations {
  const stripped = (pod: Pod): Pod => {
    const containers = pod.spec.containers.map(({ lifecycle: _, ...container }) => container);
    return { ...pod, spec: { ...pod.spec, containers } };
  };
  return steps((inner) => ({ syncPod: (type, pod, ...rest) => inner.syncPod(type, stripped(pod), ...rest) }));
}

function exec(change: (execSync: Cri['execSync']) => Cri['execSync']): Decorations {
  return { cri: (cri) => changed(cri, { execSync: change((request, signal) => cri.execSync(request, signal)) }) };
}

/** A container that completes with exit code 0 before its hook would fail. */
const exitsInHook = scenario(
  comes({
    ...healthy,
    restartPolicy: 'OnFailure',
    containers: [
      {
        ...{ name: 'main', runs: [{ exitAfterMs: 3000 }], version: 1 },
        postStart: { by: 'httpGet', runs: [{ takesMs: 5000, fails: true }] },
      },
      { name: 'two', runs: [{}], version: 1 },
    ],
  }),
);

/** Makes the runtime report a container as running for a moment after its exit. */
function lateToSeeExits(): Decorations {
  return {
    cri: (cri, { clock }) =>
      changed(cri, {
        containerStatus: async (request, signal) => {
          const answer = await cri.containerStatus(request, signal);
          const { status } = answer;
          if (status === null || clock.now() - Number(status.finishedAt) / 1e6 > 50) return answer;
          return { ...answer, status: { ...status, state: ContainerState.CONTAINER_RUNNING } };
        },
      }),
  };
}

seenBroken([
  [
    'C5',
    'the command of a hook runs twice',
    () =>
      exec((execSync) => async (request, signal) => {
        await execSync(request, signal);
        return execSync(request, signal);
      }),
    scenario(comes(hooked(byExec))),
  ],
  [
    'C5',
    'a postStart hook runs when its container stops',
    () => ({
      cri: (cri) =>
        changed(cri, {
          stopContainer: async (request, signal) => {
            await cri.execSync({ containerId: request.containerId ?? '', cmd: ['hook'] }, signal);
            return cri.stopContainer(request, signal);
          },
        }),
    }),
    comesAndGoes,
  ],
  ['C5', 'the kubelet does not wait for the command of a hook', hasty, scenario(comes(hooked(byExec)))],
  [
    'C5',
    'the kubelet does not wait for the response to a hook',
    () => ({
      hooks: (ask) => async (request, signal) => {
        void ask(request, signal);
        return { kind: 'answer', status: 200, body: '' };
      },
    }),
    scenario(comes(hooked(byRequest))),
  ],
  ['C5', 'the kubelet does not wait for a sleep hook', withoutHooks, scenario(comes(hooked(bySleep)))],
  ['C5', 'hooks are not run', withoutHooks, scenario(comes(hooked(byExec)))],
  [
    'C5',
    'failed hooks count as succeeded',
    () => exec((execSync) => async (request, signal) => ({ ...(await execSync(request, signal)), exitCode: 0 })),
    scenario(comes(hooked(failing))),
  ],
  [
    'C2',
    'runs that end by a failed hook appear to have lasted long and ended long ago',
    () => ({
      cri: (cri) =>
        changed(cri, {
          containerStatus: async (request, signal) => {
            const answer = await cri.containerStatus(request, signal);
            if (answer.status === null || answer.status.finishedAt === 0) return answer;
            return { ...answer, status: { ...answer.status, startedAt: 1, finishedAt: 1e15 } };
          },
        }),
    }),
    scenario(comes(hooked(alwaysFailing))),
  ],
  ['C6', 'a container that exits during its hook appears to run when the hook fails', lateToSeeExits, exitsInHook],
  ['C6', 'succeeded hooks count as failed', () => hasty(1), scenario(comes(hooked(byExec)))],
  [
    'S7',
    'the kubelet does not wait for the response to a hook',
    () => ({
      hooks: (ask) => async (request, signal) => {
        void ask(request, signal);
        return { kind: 'answer', status: 200, body: '' };
      },
    }),
    inCluster,
  ],
  ['W6', 'no sandbox is created while a hook runs', () => noSandboxDuring('execSync'), hasNeighbour],
]);
