import type { Decorations, Scenario } from '../src/index.ts';
import { changed, changedFiles, healthy, quietNode, seenBroken, twoContainers } from './mutants.ts';

/** Makes the hashes of container specs appear changed while `when` returns true. */
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

/** One healthy pod, and a runtime that is down for three seconds. */
const runtimeRestart: Scenario = {
  ...quietNode,
  actions: [
    { atMs: 100, do: 'writeManifest', file: 'p1.yaml', pod: twoContainers },
    { atMs: 20_000, do: 'crashRuntime', downMs: 3000, lost: 'none' },
    { atMs: 30_000, do: 'killContainer', nth: 1, exitCode: 1, oomKilled: false },
  ],
};

/** One healthy pod, whose manifest is broken while the kubelet restarts. */
const brokenAtRestart: Scenario = {
  ...quietNode,
  actions: [
    { atMs: 100, do: 'writeManifest', file: 'p1.yaml', pod: healthy },
    { atMs: 20_000, do: 'killKubelet', afterCalls: 0, effect: 'before', inFlight: 'cancelled', downMs: 2000 },
    { atMs: 21_000, do: 'breakManifest', file: 'p1.yaml', content: '{' },
  ],
};

/** Changes that stop containers, or cause the kubelet to stop them, without a reason. */
seenBroken([
  ['F2', 'container specs appear to change all the time', () => forgedHashes(() => true)],
  [
    'F2',
    'the last good manifests are lost when the kubelet restarts',
    () => ({
      files: (fs) =>
        changedFiles(fs, {
          readFile: (path) =>
            fs.readFile(path.includes('/last-good-manifests/') ? path.replace(/[^/]*$/, 'forgotten') : path),
        }),
    }),
    brokenAtRestart,
  ],
  [
    'K1',
    'the kubelet assumes that there are no manifests if it cannot list them at start',
    () => ({
      files: (fs) => changedFiles(fs, { readdir: (path) => fs.readdir(path).catch(() => []) }),
    }),
    {
      ...brokenAtRestart,
      actions: [
        ...brokenAtRestart.actions.slice(0, 2),
        {
          ...{ atMs: 21_000, do: 'fileFault', code: 'EIO', operation: 'readdir' },
          ...{ path: '/etc/kubernetes/manifests', forMs: 10_000 },
        },
      ],
    },
  ],
  [
    'K1',
    'container specs appear to have changed after a kubelet restart',
    () => forgedHashes((kubelet) => kubelet > 1),
  ],
  [
    'K2',
    'container specs appear to have changed after a runtime restart',
    () => forgedHashes((_kubelet, down) => down),
    runtimeRestart,
  ],
]);
