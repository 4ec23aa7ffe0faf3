import { sleep } from '@node-agent/async';
import type { Action, ContainerPlan, Decorations, PodPlan, Scenario } from '../src/index.ts';
import { changed, healthy, quietNode, seenBroken, steps } from './mutants.ts';

const cluster: Omit<Scenario, 'actions'> = { ...quietNode, node: { ...quietNode.node, cluster: true } };

/** A container that drains for long when it is told to stop. */
const draining: ContainerPlan = {
  ...{ name: 'main', runs: [{}], version: 1, ignoreTerm: true },
  probes: { readiness: { periodSeconds: 1, wellAfterMs: 0, drains: true } },
};

const KILL: Action = {
  ...{ atMs: 35_000, do: 'killKubelet', downMs: 100 },
  ...{ afterCalls: 0, effect: 'before', inFlight: 'cancelled' },
};

/** A pod of the API that is deleted; the kubelet is killed meanwhile, where that is asked for. */
function deleted(container: ContainerPlan, isKilled: boolean): Scenario {
  const pod: PodPlan = { ...healthy, name: 'a1', uid: 'a1-u', graceSeconds: 30, containers: [container] };
  return {
    ...cluster,
    actions: [
      { atMs: 100, do: 'apiCreate', pod },
      { atMs: 10_000, do: 'apiDelete', name: 'a1', uid: 'a1-u', force: false },
      ...(isKilled ? [KILL] : []),
    ],
  };
}

/** Probes of a container that was told to stop are answered without the container: for them nobody asks. */
function unasked(): Decorations {
  let count = 0;
  return {
    probes: (ask) => async (request, timeoutMs, signal) =>
      ++count < 10 ? await ask(request, timeoutMs, signal) : { kind: 'answer', status: 200, body: '' },
  };
}

const deaf: () => Decorations = () => ({
  probes: (ask) => async (request, timeoutMs, signal) => {
    await ask(request, timeoutMs, signal);
    return { kind: 'answer', status: 200, body: '' };
  },
});

/** A sandbox takes long to stop, though all containers in it have ended. */
const lingering: () => Decorations = () => ({
  cri: (cri, { clock }) =>
    changed(cri, {
      stopPodSandbox: async (request, signal) => {
        await sleep(clock, 25_000);
        return await cri.stopPodSandbox(request, signal);
      },
    }),
});

const preStop: ContainerPlan = { name: 'main', runs: [{}], version: 1, preStopSeconds: 4, preStopBy: 'exec' };

seenBroken([
  ['R1', 'readiness of a pod that ends is not probed', unasked, deleted(draining, false)],
  ['R1', 'a pod that ends is shown as ready though its probe fails', deaf, deleted(draining, false)],
  [
    'C5',
    'a restart of the kubelet begins the grace period of a deletion again',
    () =>
      steps((inner) => ({
        syncTerminatingPod: (one, status, _seconds, ...rest) => inner.syncTerminatingPod(one, status, 30, ...rest),
      })),
    deleted({ ...draining, probes: {} }, true),
  ],
  [
    'C5',
    'a pod whose containers have ended is waited for',
    lingering,
    deleted(healthy.containers[0] ?? draining, false),
  ],
  [
    'C5',
    'a preStop hook runs twice',
    () => ({
      cri: (cri) =>
        changed(cri, {
          execSync: async (request, signal) => {
            void cri.execSync(request, signal).catch(() => {});
            return await cri.execSync(request, signal);
          },
        }),
    }),
    deleted(preStop, false),
  ],
]);
