import { sleep } from '@node-agent/async';
import type { Action, ContainerPlan, Decorations, PodPlan, Scenario } from '../src/index.ts';
import { changed, healthy, quietNode, seenBroken, steps } from './mutants.ts';

const cluster: Omit<Scenario, 'actions'> = { ...quietNode, node: { ...quietNode.node, cluster: true } };

/** A container that drains for a long time when it is stopped. */
const draining: ContainerPlan = {
  ...{ name: 'main', runs: [{}], version: 1, ignoreTerm: true },
  probes: { readiness: { periodSeconds: 1, wellAfterMs: 0, drains: true } },
};

const KILL: Action = {
  ...{ atMs: 35_000, do: 'killKubelet', downMs: 100 },
  ...{ afterCalls: 0, effect: 'before', inFlight: 'cancelled' },
};

/** A pod of the API that is deleted. If `isKilled`, the kubelet is killed during the termination. */
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

/** Makes probes succeed without reaching the container, from the tenth probe on. */
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

/** Makes stopping a sandbox take a long time, although its containers have exited. */
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
  ['R1', 'the readiness of a terminating pod is not probed', unasked, deleted(draining, false)],
  ['R1', 'a terminating pod is reported as ready although its probe fails', deaf, deleted(draining, false)],
  [
    'C5',
    'a kubelet restart restarts the grace period of a deletion',
    () =>
      steps((inner) => ({
        syncTerminatingPod: (one, status, _seconds, ...rest) => inner.syncTerminatingPod(one, status, 30, ...rest),
      })),
    deleted({ ...draining, probes: {} }, true),
  ],
  [
    'C5',
    'a pod stays terminating although its containers have exited',
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
