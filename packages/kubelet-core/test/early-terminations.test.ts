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
    ['where a static pod of its name and its source is wanted', runningPod('etcd', 'old', 'file'), true],
    ['but not where it is wanted itself', runningPod('etcd', 'new', 'file'), false],
    ['but not where its source has not spoken', runningPod('web', 'old', 'http'), false],
    ['but not where it is of another source', runningPod('etcd', 'old', 'http'), false],
    ['but not where nobody knows its source', runningPod('etcd', 'old'), false],
    ['but not where its name is wanted by nobody', runningPod('kube-proxy', 'old', 'file'), false],
    [
      'but not where its namespace is another',
      { ...runningPod('etcd', 'old', 'file'), namespace: 'kube-system' },
      false,
    ],
    ['but not where it is of the API server', runningPod('app', 'old', 'api'), false],
  ];
  test.each(rows)('%s', (_name, unwanted, expected) => {
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
  test('F4: kill the runtime’s pods without a worker that a static pod replaces', () => {
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
    ['its own pod alone', ['new'], false],
    ['nobody knows yet', undefined, false],
    ['one that is being ended', ['new', 'ending'], false],
    ['one that nobody knows', ['old'], true],
  ])('F4: list the runtime’s pods only if there may be a namesake; running: %s', (_name, running, expected) => {
    const { podManager, early, workers } = setUp({ ...(running && { running }) });
    expect(early.mayHaveReplacedOrphans()).toBe(false);
    workers.known.set('ending', { state: 'terminating', orphan: true, hasConfig: false, static: false });
    podManager.addPod(makePod('etcd', { uid: 'of-api' }));
    podManager.addPod(staticPod('etcd', 'of-url', 'http'));
    expect(early.mayHaveReplacedOrphans()).toBe(false);
    podManager.addPod(staticPod('etcd', 'new'));
    expect(early.mayHaveReplacedOrphans()).toBe(expected);
  });

  test('F1, F4: delay removed pods until all sources are ready, unless a pod of their source replaces them', () => {
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
    ['that waits for another of its name', 'waitingForFullName', ['other'], true],
    ['that an earlier process has begun', 'waitingForFullName', ['other', 'removed'], false],
    ['of which nobody knows whether one has', 'waitingForFullName', undefined, false],
    ['that has begun', 'idle', ['removed'], false],
  ])('F1, N9: terminate a removed pod %s immediately, without starting it: %s', (_name, kind, running, expected) => {
    const { early, told, workers } = setUp({ ...(running && { running }) });
    workers.known.set('removed', { state: 'sync', orphan: false, hasConfig: true, static: true });
    workers.view = { activity: { kind } };
    expect(early.podRemoved(staticPod('etcd', 'removed'))).toBe(expected);
    expect(told()).toEqual(expected ? ['kill removed'] : []);
    early.terminateAll();
    expect(told()).toEqual(['kill removed']);
  });
});
