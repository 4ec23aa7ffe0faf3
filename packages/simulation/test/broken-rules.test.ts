import type { Pod } from '@node-agent/pod-spec';
import { expect, test } from 'vitest';
import { type ContainerPlan, generateScenario, type Scenario, shrink, simulate } from '../src/index.ts';
import { type Cri, changed, healthy, noSandboxDuring, quietNode, seenBroken, steps, twoContainers } from './mutants.ts';

function withSpec(pod: Pod, spec: Partial<Pod['spec']>): Pod {
  return { ...pod, spec: { ...pod.spec, ...spec } };
}

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
seenBroken([
  [
    'P1',
    'the last step comes before the one that stops the pod',
    () =>
      steps((inner) => ({
        syncTerminatingPod: async (pod, status, grace, statusFn, signal) => {
          await inner.syncTerminatedPod(pod, status, signal);
          return await inner.syncTerminatingPod(pod, status, grace, statusFn, signal);
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
  ['C7', 'no sandbox is made while an image is pulled', () => noSandboxDuring('pullImage'), slowPull],
  [
    'S2',
    'a pod counts as stopped without being stopped',
    () => steps(() => ({ syncTerminatingPod: async () => ({}) })),
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
]);

test('a failure is cut down to the few actions that it takes, which break the same rule again', async () => {
  const startContainer: Cri['startContainer'] = () => Promise.reject(new Error('no'));
  const options = { decorations: { cri: (cri: Cri) => changed(cri, { startContainer }) } };
  const failed = await simulate(generateScenario(1), options);
  expect(failed.violation?.invariant).toBe('P7');
  const { scenario, violation } = await shrink(failed, options);
  expect(scenario.actions.length).toBe(1);
  expect(scenario.actions[0]?.do).toBe('writeManifest');
  expect((await simulate(scenario, options)).violation).toEqual(violation);
}, 300_000);
