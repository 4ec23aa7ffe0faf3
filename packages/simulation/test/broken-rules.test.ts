import type { ImageService, RuntimeService } from '@node-agent/cri-client';
import type { PodSyncer } from '@node-agent/kubelet-core';
import type { Pod } from '@node-agent/pod-spec';
import { expect, test } from 'vitest';
import {
  allInvariants,
  type ContainerPlan,
  type Decorations,
  generateScenario,
  type InvariantId,
  type PodPlan,
  type Scenario,
  shrink,
  simulate,
} from '../src/index.ts';

type Cri = RuntimeService & ImageService;

/** The runtime with some of its calls changed. */
function changed(cri: Cri, calls: Partial<Cri>): Cri {
  return new Proxy(cri, {
    get: (target, name) => Reflect.get(calls, name) ?? Reflect.get(target, name, target),
  });
}

/** The steps with some of them changed. */
function steps(change: (inner: PodSyncer) => Partial<PodSyncer>): Decorations {
  return { podSyncer: (inner) => ({ ...inner, ...change(inner) }) };
}

function withSpec(pod: Pod, spec: Partial<Pod['spec']>): Pod {
  return { ...pod, spec: { ...pod.spec, ...spec } };
}

/** Containers whose spec seems to have changed, from a time on. */
function forgedHashes(when: (kubelet: number, wasDown: boolean) => boolean): Decorations {
  let kubelets = 0;
  return {
    cri: (cri, world) => {
      const kubelet = ++kubelets;
      let wasDown = false;
      return changed(cri, {
        containerStatus: async (request, signal) => {
          wasDown ||= world.runtime.down;
          const answer = await cri.containerStatus(request, signal);
          if (!when(kubelet, wasDown) || answer.status === null) return answer;
          const annotations = { ...answer.status.annotations, 'io.kubernetes.container.hash': 'deadbeef' };
          return { ...answer, status: { ...answer.status, annotations } };
        },
        status: async (request, signal) => {
          wasDown ||= world.runtime.down;
          return cri.status(request, signal);
        },
      });
    },
  };
}

const healthy: PodPlan = {
  name: 'p1',
  uid: 'u1',
  restartPolicy: 'Always',
  graceSeconds: 2,
  init: [],
  containers: [{ name: 'main', runs: [{}], version: 1 }],
};

const twoContainers: PodPlan = {
  ...healthy,
  containers: [...healthy.containers, { name: 'two', runs: [{}], version: 1 }],
};

const quietNode: Omit<Scenario, 'actions'> = {
  seed: 1,
  node: { backOff: { initialMs: 1000, maxMs: 10_000 }, events: true, latencies: true, http: false, httpDelayMs: 0 },
  faultsEndMs: 40_000,
  quietMs: 200_000,
};

/** One healthy pod, and a runtime that is away for three seconds. */
const runtimeRestart: Scenario = {
  ...quietNode,
  actions: [
    { atMs: 100, do: 'writeManifest', file: 'p1.yaml', pod: twoContainers },
    { atMs: 20_000, do: 'crashRuntime', downMs: 3000, lost: 'none' },
    { atMs: 30_000, do: 'killContainer', nth: 1, exitCode: 1, oomKilled: false },
  ],
};

/** One healthy pod. */
const comeAndStay: Scenario = {
  ...quietNode,
  actions: [{ atMs: 100, do: 'writeManifest', file: 'p1.yaml', pod: healthy }],
};

const main: ContainerPlan = { name: 'main', runs: [{}], stopDelayMs: 1500, version: 1 };

/** A pod with a sidecar, which goes. */
const withSidecar: Scenario = {
  ...quietNode,
  actions: [
    {
      atMs: 100,
      do: 'writeManifest',
      file: 'p1.yaml',
      pod: { ...healthy, init: [{ ...main, name: 'side', restartPolicy: 'Always' }], containers: [main] },
    },
    { atMs: 20_000, do: 'removeManifest', file: 'p1.yaml' },
  ],
};

/** A pod whose image is slow to come, and another one. */
const slowPull: Scenario = {
  ...quietNode,
  faultsEndMs: 60_000,
  actions: [
    {
      atMs: 100,
      do: 'writeManifest',
      file: 'p1.yaml',
      pod: { ...healthy, containers: [{ ...main, slowImage: true }] },
    },
    { atMs: 5000, do: 'writeManifest', file: 'p2.yaml', pod: { ...healthy, name: 'p2', uid: 'u2' } },
  ],
};

/** One healthy pod that comes and goes. */
const comeAndGo: Scenario = {
  ...quietNode,
  actions: [
    {
      atMs: 100,
      do: 'writeManifest',
      file: 'p1.yaml',
      pod: twoContainers,
    },
    { atMs: 20_000, do: 'removeManifest', file: 'p1.yaml' },
  ],
};

/** Each rule, and a node that breaks it. */
const mutants: readonly (readonly [InvariantId, string, () => Decorations, Scenario?])[] = [
  [
    'P1',
    'the last step comes before the one that stops the pod',
    () =>
      steps((inner) => ({
        syncTerminatingPod: async (pod, status, grace, statusFn, signal) => {
          await inner.syncTerminatedPod(pod, status, signal);
          await inner.syncTerminatingPod(pod, status, grace, statusFn, signal);
        },
      })),
  ],
  [
    'P2',
    'each sync runs twice at once',
    () =>
      steps((inner) => ({
        syncPod: async (...args) => {
          const both = [inner.syncPod(...args), inner.syncPod(...args)];
          const [first] = await Promise.all(both);
          return first ?? { isTerminal: false };
        },
      })),
  ],
  [
    'P3',
    'a pod is synced once more after its last step',
    () =>
      steps((inner) => ({
        syncTerminatedPod: async (pod, status, signal) => {
          await inner.syncTerminatedPod(pod, status, signal);
          await inner.syncPod('sync', pod, undefined, status, signal);
        },
      })),
  ],
  [
    'P4',
    'the lists of the runtime are empty, so that nobody sees what ran before',
    () => ({
      cri: (cri) =>
        changed(cri, {
          listPodSandbox: async (request, signal) =>
            request.filter == null ? { items: [] } : cri.listPodSandbox(request, signal),
          listContainers: async (request, signal) =>
            request.filter == null ? { containers: [] } : cri.listContainers(request, signal),
        }),
    }),
  ],
  [
    'P6',
    'an orphan is synced as if it was wanted',
    () => {
      const specs = new Map<string, Pod>();
      return steps((inner) => ({
        syncPod: async (type, pod, ...rest) => {
          specs.set(pod.metadata.uid, pod);
          return inner.syncPod(type, pod, ...rest);
        },
        syncTerminatingRuntimePod: async (running, signal) => {
          const pod = specs.get(running.uid);
          const gone = { ...running, ips: [], sandboxes: [], containers: [], observedAtMs: 0 };
          if (pod !== undefined) await inner.syncPod('sync', pod, undefined, gone, signal);
          await inner.syncTerminatingRuntimePod(running, signal);
        },
      }));
    },
  ],
  [
    'P7',
    'no container can be started',
    () => ({ cri: (cri) => changed(cri, { startContainer: () => Promise.reject(new Error('no')) }) }),
    comeAndStay,
  ],
  [
    'C1',
    'each container is created and started twice',
    () => ({
      cri: (cri) =>
        changed(cri, {
          createContainer: async (request, signal) => {
            const metadata = { ...request.config?.metadata, attempt: 100 + (request.config?.metadata?.attempt ?? 0) };
            const twin = await cri.createContainer({ ...request, config: { ...request.config, metadata } }, signal);
            await cri.startContainer({ containerId: twin.containerId }, signal);
            return cri.createContainer(request, signal);
          },
        }),
    }),
  ],
  [
    'C2',
    'each run seems to have been long, and over for long',
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
  ],
  [
    'C3',
    'main containers do not wait for init containers',
    () =>
      steps((inner) => ({
        syncPod: (type, pod, ...rest) => inner.syncPod(type, withSpec(pod, { initContainers: [] }), ...rest),
      })),
  ],
  [
    'C4',
    'all containers stop at once, sidecars too',
    () =>
      steps((inner) => ({
        syncTerminatingPod: (pod, ...rest) => inner.syncTerminatingPod(withSpec(pod, { initContainers: [] }), ...rest),
      })),
    withSidecar,
  ],
  [
    'C5',
    'stopping gives no grace',
    () => ({
      cri: (cri) =>
        changed(cri, {
          stopContainer: ({ containerId = '' }, signal) => cri.stopContainer({ containerId, timeout: 0 }, signal),
        }),
    }),
  ],
  [
    'C6',
    'every container is always started again',
    () =>
      steps((inner) => ({
        syncPod: (type, pod, ...rest) => {
          const containers = pod.spec.containers.map(
            ({ restartPolicy, restartPolicyRules, ...container }) => container,
          );
          return inner.syncPod(type, withSpec(pod, { restartPolicy: 'Always', containers }), ...rest);
        },
      })),
  ],
  [
    'C7',
    'no sandbox is made while an image is pulled',
    () => ({
      cri: (cri) => {
        let pulls: Promise<unknown> = Promise.resolve();
        return changed(cri, {
          pullImage: (request, signal) => {
            const pull = cri.pullImage(request, signal);
            pulls = Promise.allSettled([pulls, pull]);
            return pull;
          },
          runPodSandbox: async (request, signal) => {
            await pulls;
            return cri.runPodSandbox(request, signal);
          },
        });
      },
    }),
    slowPull,
  ],
  ['S2', 'a pod counts as stopped without being stopped', () => steps(() => ({ syncTerminatingPod: async () => {} }))],
  ['F2', 'specs seem to change all the time', () => forgedHashes(() => true)],
  ['K1', 'specs seem to have changed after a restart of the kubelet', () => forgedHashes((kubelet) => kubelet > 1)],
  [
    'K2',
    'specs seem to have changed after a restart of the runtime',
    () => forgedHashes((_kubelet, down) => down),
    runtimeRestart,
  ],
  [
    'K4',
    'the runtime never forgets a sandbox',
    () => ({
      cri: (cri) => {
        const ghosts = new Map<string, Awaited<ReturnType<Cri['listPodSandbox']>>['items'][number]>();
        const statuses = new Map<string, Awaited<ReturnType<Cri['podSandboxStatus']>>>();
        return changed(cri, {
          listPodSandbox: async (request, signal) => {
            const { items } = await cri.listPodSandbox(request, signal);
            for (const item of items) ghosts.set(item.id, item);
            return { items: [...ghosts.values()] };
          },
          podSandboxStatus: async (request, signal) => {
            const id = request.podSandboxId ?? '';
            const answer = statuses.get(id) ?? (await cri.podSandboxStatus(request, signal));
            statuses.set(id, answer);
            return answer;
          },
        });
      },
    }),
    comeAndGo,
  ],
];

const SEEDS = 100;

for (const [id, how, decorations, scenario] of mutants) {
  test(`${id}: is seen to be broken where ${how}`, async () => {
    const invariants = allInvariants.filter((invariant) => invariant.id === id);
    for (let seed = 1; seed <= SEEDS; seed++) {
      const result = await simulate(scenario ?? generateScenario(seed), { decorations: decorations(), invariants });
      if (result.violation === undefined) continue;
      expect(result.violation.invariant).toBe(id);
      return;
    }
    expect.fail(`no seed of ${SEEDS} shows that ${id} is broken`);
  });
}

test('a failure is cut down to the few actions that it takes, which break the same rule again', async () => {
  const startContainer: Cri['startContainer'] = () => Promise.reject(new Error('no'));
  const options = { decorations: { cri: (cri: Cri) => changed(cri, { startContainer }) } };
  const failed = await simulate(generateScenario(1), options);
  expect(failed.violation?.invariant).toBe('P7');
  const { scenario, violation } = await shrink(failed, options);
  expect(scenario.actions.length).toBe(1);
  expect(scenario.actions[0]?.do).toBe('writeManifest');
  expect((await simulate(scenario, options)).violation).toEqual(violation);
});
