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

/** A pod with a sidecar that is removed later. */
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

/** A pod whose image takes a long time to pull, and another pod. */
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

/** A healthy pod that is added and removed. */
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

/** Changes of the node, each of which breaks one invariant. */
seenBroken([
  [
    'P1',
    'syncTerminatedPod runs before syncTerminatingPod',
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
    'each sync runs twice concurrently',
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
    'a pod is synced after syncTerminatedPod',
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
    'the runtime’s lists are empty, so that containers of an earlier kubelet are not seen',
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
    'an orphaned pod is synced like a desired pod',
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
    'all runs appear to have lasted long and ended long ago, so that there is no back-off',
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
    'sidecars stop together with the main containers',
    () =>
      steps((inner) => ({
        syncTerminatingPod: (pod, ...rest) => inner.syncTerminatingPod(withSpec(pod, { initContainers: [] }), ...rest),
      })),
    withSidecar,
  ],
  [
    'C5',
    'containers are stopped without a grace period',
    () => ({
      cri: (cri) =>
        changed(cri, {
          stopContainer: ({ containerId = '' }, signal) => cri.stopContainer({ containerId, timeout: 0 }, signal),
        }),
    }),
  ],
  [
    'C6',
    'every exited container is restarted',
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
  ['C7', 'no sandbox is created while an image is pulled', () => noSandboxDuring('pullImage'), slowPull],
  [
    'S2',
    'a pod is reported as terminated without being stopped',
    () => steps(() => ({ syncTerminatingPod: async () => ({}) })),
  ],
  [
    'K4',
    'the runtime never removes a sandbox',
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

test('shrink reduces a failure to the few actions that are needed to break the same invariant', async () => {
  const startContainer: Cri['startContainer'] = () => Promise.reject(new Error('no'));
  const options = { decorations: { cri: (cri: Cri) => changed(cri, { startContainer }) } };
  const failed = await simulate(generateScenario(1), options);
  expect(failed.violation?.invariant).toBe('P7');
  const { scenario, violation } = await shrink(failed, options);
  expect(scenario.actions.length).toBe(1);
  expect(scenario.actions[0]?.do).toBe('writeManifest');
  expect((await simulate(scenario, options)).violation).toEqual(violation);
}, 300_000);
