import type { Pod, PodSource, RuntimePod } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { EarlyTerminations } from '../src/sync/early-terminations.ts';
import { replacedPods } from '../src/sync/replaced-pods.ts';
import { makePod, makeRuntimePod, PlainPodManager, RecordingWorkers, unreadCache } from './fakes.ts';

const staticPod = (name: string, uid: string, source: PodSource = 'file'): Pod =>
  makePod(name, { uid, metadata: { annotations: { 'kubernetes.io/config.source': source } } });

const runningPod = (name: string, uid: string, source?: PodSource): RuntimePod => ({
  ...makeRuntimePod(uid),
  name,
  ...(source && { source }),
});

describe('F4: termination before all sources have reported', () => {
  const wanted = [staticPod('etcd', 'new'), staticPod('web', 'of-url', 'http'), makePod('app', { uid: 'of-api' })];
  const ready = new Set<PodSource>(['file', 'api']);
  const rows: [string, RuntimePod, boolean][] = [
    ['if a static pod of the same name and source is desired', runningPod('etcd', 'old', 'file'), true],
    ['unless the pod itself is desired', runningPod('etcd', 'new', 'file'), false],
    ['unless its source has not reported yet', runningPod('web', 'old', 'http'), false],
    ['unless it has another source', runningPod('etcd', 'old', 'http'), false],
    ['unless its source is unknown', runningPod('etcd', 'old'), false],
    ['unless no desired pod has its name', runningPod('kube-proxy', 'old', 'file'), false],
    ['unless it has another namespace', { ...runningPod('etcd', 'old', 'file'), namespace: 'kube-system' }, false],
    ['unless it comes from the API server', runningPod('app', 'old', 'api'), false],
  ];
  test.each(rows)('replacedPods selects a running pod %s', (_name, unwanted, expected) => {
    const stale = replacedPods(wanted, [unwanted], (source) => ready.has(source));
    expect(stale).toEqual(expected ? [unwanted] : []);
  });
});

function setUp(options: { readonly running?: readonly string[] } = {}) {
  const workers = new RecordingWorkers();
  const podManager = new PlainPodManager();
  const killed: string[] = [];
  const early = new EarlyTerminations({
    workers,
    podManager,
    podConfig: {
      updates: (async function* () {})(),
      seenAllSources: () => false,
      sourceReady: (source) => source === 'file',
      allSourcesSeen: () => Promise.reject(new Error('not asked for')),
    },
    podCache: { ...unreadCache, runningPods: () => options.running },
    killOrphan: ({ uid }) => void killed.push(uid),
  });
  const told = (): string[] => workers.updates.map(({ updateType, pod }) => `${updateType} ${pod?.metadata.uid}`);
  return { workers, podManager, early, killed, told };
}

describe('early terminations', () => {
  test('F4: before all sources are ready, kills a running pod without a worker that a static pod of its name replaces', () => {
    const { podManager, early, killed, workers } = setUp();
    podManager.addPod(staticPod('etcd', 'new'));
    workers.known.set('ending', { state: 'terminating', orphan: true, hasConfig: false, static: false });
    const dead = { ...runningPod('etcd', 'dead', 'file'), sandboxes: [] };
    early.killReplacedOrphans([
      runningPod('etcd', 'old', 'file'),
      runningPod('etcd', 'new', 'file'),
      runningPod('etcd', 'ending', 'file'),
      runningPod('web', 'other', 'file'),
      dead,
    ]);
    expect(killed).toEqual(['old']);
  });

  test.each([
    ['only the static pod itself', ['new'], false],
    ['pods that are not known yet', undefined, false],
    ['another pod, which is terminating', ['new', 'ending'], false],
    ['another pod without a worker', ['old'], true],
  ])(
    "F4: the runtime's pods must be listed if a desired static pod may have a running namesake; if the runtime has %s: $2",
    (_name, running, expected) => {
      const { podManager, early, workers } = setUp({ ...(running && { running }) });
      expect(early.mayHaveReplacedOrphans()).toBe(false);
      workers.known.set('ending', { state: 'terminating', orphan: true, hasConfig: false, static: false });
      podManager.addPod(makePod('etcd', { uid: 'of-api' }));
      podManager.addPod(staticPod('etcd', 'of-url', 'http'));
      expect(early.mayHaveReplacedOrphans()).toBe(false);
      podManager.addPod(staticPod('etcd', 'new'));
      expect(early.mayHaveReplacedOrphans()).toBe(expected);
    },
  );

  test('F1, F4: a removed pod is terminated when all sources are ready, or earlier if a pod of its source replaces it', () => {
    const { podManager, early, told } = setUp();
    for (const name of ['etcd', 'web']) early.podRemoved(staticPod(name, `old-${name}`));
    early.podRemoved(makePod('etcd', { uid: 'of-api' }));
    early.terminateReplaced();
    expect(told()).toEqual([]);
    podManager.addPod(staticPod('etcd', 'new'));
    early.terminateReplaced();
    early.terminateReplaced();
    expect(told()).toEqual(['kill old-etcd']);
    early.terminateAll();
    early.terminateAll();
    expect(told()).toEqual(['kill old-etcd', 'kill old-web', 'kill of-api']);
  });

  test.each([
    ['that waits for a running pod of its name', 'waitingForFullName', ['other'], true],
    ['whose sandbox an earlier kubelet process created', 'waitingForFullName', ['other', 'removed'], false],
    ['that waits for its name while the running pods are unknown', 'waitingForFullName', undefined, false],
    ['that its worker has started', 'idle', ['removed'], false],
  ])('F1, N9: a removed pod %s is terminated before all sources are ready: $3', (_name, kind, running, expected) => {
    const { early, told, workers } = setUp({ ...(running && { running }) });
    workers.known.set('removed', { state: 'sync', orphan: false, hasConfig: true, static: true });
    workers.view = { activity: { kind } };
    expect(early.podRemoved(staticPod('etcd', 'removed'))).toBe(expected);
    expect(told()).toEqual(expected ? ['kill removed'] : []);
    early.terminateAll();
    expect(told()).toEqual(['kill removed']);
  });
});
