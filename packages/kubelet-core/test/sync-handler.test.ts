import { FakeClock } from '@node-agent/async/testing';
import type { Pod, PodSource, PodStatus, RuntimePod } from '@node-agent/pod-spec';
import { noMetrics, silentLogger } from '@node-agent/telemetry';
import { describe, expect, test, vi } from 'vitest';
import type { AdmitHandler, AdmitResult } from '../src/admit/admit-handler.ts';
import { noAllocation } from '../src/admit/allocation.ts';
import { PodJournal } from '../src/explain/pod-journal.ts';
import { podsPastDeadline } from '../src/pods/active-deadline.ts';
import { HousekeepingMetrics } from '../src/sync/housekeeping-metrics.ts';
import { makeSyncParts } from '../src/sync/sync-parts.ts';
import {
  makePod,
  makeRuntimePod,
  PlainPodManager,
  PlainProbes,
  PlainStatuses,
  RecordingWorkers,
  recordEvents,
  unreadCache,
} from './fakes.ts';

const { signal } = new AbortController();

function setUp(
  options: {
    admitHandlers?: readonly AdmitHandler[];
    running?: readonly RuntimePod[];
    /** Whether the pod cache has listed the runtime's pods but read none of them yet. */
    isUnread?: boolean;
    /** Errors with which the first retries of pending resizes fail. */
    retryFailures?: Error[];
  } = {},
) {
  const parts = {
    workers: new RecordingWorkers(),
    status: new PlainStatuses(),
    podManager: new PlainPodManager(),
    events: recordEvents(),
    clock: new FakeClock(),
    sourcesReady: true,
    readySources: new Set<PodSource>(),
    keptDirs: [] as string[],
    disk: undefined as Promise<void> | undefined,
    deletedContainers: [] as string[],
    forgotten: [] as string[],
    mirrorsSeen: [] as string[],
    statusesSeen: [] as string[],
    startup: [] as string[],
    retries: [] as string[],
    errors: [] as string[],
    unallocated: new Set<string>(),
    isKnownGroup: undefined as ((uid: string) => boolean) | undefined,
  };
  const probes = new PlainProbes();
  const podCgroups = {
    removeOrphans(isKnown: (uid: string) => boolean): void {
      parts.isKnownGroup = isKnown;
    },
  };
  const sync = makeSyncParts({
    allocation: {
      ...noAllocation,
      hasAllocation: (uid) => !parts.unallocated.has(uid),
      retry(trigger) {
        const failure = options.retryFailures?.shift();
        if (failure !== undefined) throw failure;
        parts.retries.push(trigger);
        return [];
      },
    },
    journal: new PodJournal({ clock: parts.clock }),
    podCgroups,
    probes,
    clock: parts.clock,
    logger: { ...silentLogger, error: (_fields: object, message: string) => void parts.errors.push(message) },
    metrics: noMetrics,
    housekeepingMetrics: new HousekeepingMetrics(noMetrics),
    recorder: parts.events.recorder,
    workers: parts.workers,
    status: parts.status,
    podManager: parts.podManager,
    podConfig: {
      updates: (async function* () {})(),
      seenAllSources: () => parts.sourcesReady,
      sourceReady: (source) => parts.sourcesReady || parts.readySources.has(source),
      allSourcesSeen: () => Promise.reject(new Error('not asked for')),
    },
    admitHandlers: options.admitHandlers ?? [],
    apiStatusChanged: (uid) => void parts.statusesSeen.push(uid),
    startup: {
      observed: (pod) => void parts.startup.push(`${pod.metadata.name} ${pod.status?.phase}`),
      forget: (uid) => void parts.startup.push(`forget ${uid}`),
    },
    mirrorPods: { reconcile: (fullName) => void parts.mirrorsSeen.push(fullName) },
    podCache: {
      ...unreadCache,
      get(uid) {
        const pod = options.isUnread ? undefined : options.running?.find((one) => one.uid === uid);
        return pod && { status: { ...pod, ips: [], sandboxes: [], containers: [], observedAtMs: 0 } };
      },
      hasSeen: () => options.isUnread !== true,
      runningPods: (name) => (options.running ?? []).filter((pod) => pod.name === name).map(({ uid }) => uid),
    },
    containerGc: {
      garbageCollect: async () => {},
      deleteContainersInPod: (status) => void parts.deletedContainers.push(status.uid),
    },
    runtime: {
      getPods: () => Promise.reject(new Error('not asked for')),
      getPodStatus: () => Promise.reject(new Error('not asked for')),
      syncPod: () => Promise.reject(new Error('not asked for')),
      killPod: () => Promise.reject(new Error('not asked for')),
      status: () => Promise.reject(new Error('not asked for')),
      containerEnded: () => {},
      forget: (uid) => void parts.forgotten.push(uid),
    },
    volumes: {
      start: async () => {},
      makePodDataDirs: async () => {},
      waitForAttachAndMount: async () => {},
      waitForUnmount: async () => {},
      podVolumesExist: async () => false,
      cleanupOrphanedPodDirs: async (isKnown) => {
        await parts.disk;
        parts.keptDirs.push(...['uid-a', 'uid-b', 'orphan', 'stranger'].filter(isKnown));
      },
    },
  });
  const { handler: sources, cleanups, updates, active, admissions, early } = sync;
  /** Calls of the sync loop and of the kubelet, each passed to the component that handles it. */
  const handler = {
    early,
    handlePodAdditions: (pods: readonly Pod[], ending: AbortSignal) => sources.handlePodAdditions(pods, ending),
    handlePodUpdates: (pods: readonly Pod[]) => sources.handlePodUpdates(pods),
    handlePodRemoves: (pods: readonly Pod[]) => sources.handlePodRemoves(pods),
    handlePodReconcile: (pods: readonly Pod[]) => sources.handlePodReconcile(pods),
    handlePodSyncs: (pods: readonly Pod[]) => updates.handlePodSyncs(pods),
    handlePodCleanups: (listed: readonly RuntimePod[], ending: AbortSignal) =>
      cleanups.handlePodCleanups(listed, ending),
    restartReused: (ending: AbortSignal) => cleanups.restartReused(ending),
    activePods: () => active.list(),
    applicants: () => admissions.applicants(),
    isUndecided: (uid: string) => admissions.isUndecided(uid),
    podsPastDeadline: () => podsPastDeadline({ ...parts, admissions }),
  };
  const setDisk = (disk: Promise<void>): void => {
    parts.disk = disk;
  };
  const setSourcesReady = (ready: boolean): void => {
    parts.sourcesReady = ready;
  };
  const groupsOf = (): typeof parts.isKnownGroup => parts.isKnownGroup;
  return { handler, ...parts, probes, setSourcesReady, setDisk, groupsOf };
}

type Parts = ReturnType<typeof setUp>;

const told = (workers: RecordingWorkers): string[] =>
  workers.updates.map(({ updateType, pod, runningPod }) => `${updateType} ${pod?.metadata.name ?? runningPod?.uid}`);

test('the startup latency tracker receives each pod as its source shows it, and its removal (K4)', async () => {
  const { handler, startup, workers, setSourcesReady } = setUp();
  setSourcesReady(true);
  handler.handlePodAdditions([makePod('a', { status: { phase: 'Pending' } })], signal);
  await handler.handlePodCleanups([], new AbortController().signal);
  handler.handlePodReconcile([makePod('a', { status: { phase: 'Running' } })]);
  handler.handlePodUpdates([makePod('a', { status: { phase: 'Running' } })]);
  expect(startup).toEqual(['a Pending', 'a Running', 'a Running']);
  handler.handlePodRemoves([makePod('a')]);
  workers.known.clear();
  await handler.handlePodCleanups([], new AbortController().signal);
  expect(startup.slice(3)).toEqual(['forget uid-a']);
});

test('R1: a pod that left the configuration keeps its status until its containers have stopped', async () => {
  const { handler, status, workers, setSourcesReady } = setUp();
  setSourcesReady(true);
  status.setPodStatus(makePod('a'), { phase: 'Running' });
  for (const [state, kept] of [
    ['sync', true],
    ['terminating', true],
    ['terminated', false],
  ] as const) {
    workers.known.set('uid-a', { state, orphan: true, hasConfig: true, static: true });
    await handler.handlePodCleanups([], new AbortController().signal);
    expect(status.getPodStatus('uid-a') !== undefined, state).toBe(kept);
  }
});

test('R1: a pod that left the configuration keeps its status although housekeeping starts another pod', async () => {
  const { handler, podManager, status, workers, setSourcesReady } = setUp();
  setSourcesReady(true);
  podManager.addPod(makePod('b'));
  status.setPodStatus(makePod('a'), { phase: 'Running' });
  workers.known.set('uid-a', { state: 'terminating', orphan: true, hasConfig: true, static: false });
  await handler.handlePodCleanups([], new AbortController().signal);
  expect(workers.updates.map(({ pod }) => pod?.metadata.uid)).toContain('uid-b');
  expect(status.getPodStatus('uid-a')).toEqual({ phase: 'Running' });
});

describe('additions of pods', () => {
  test('admits new pods and gives them workers, oldest first', () => {
    const { handler, workers } = setUp();
    const young = makePod('young', { metadata: { creationTimestamp: '2026-01-02T00:00:00Z' } });
    const old = makePod('old', { metadata: { creationTimestamp: '2026-01-01T00:00:00Z' } });
    handler.handlePodAdditions([young, old], signal);
    expect(told(workers)).toEqual(['create old', 'create young']);
  });

  test('K5: finished pods come after all others, because their clean-up must not delay pods that may run', () => {
    const { handler, workers } = setUp();
    const at = (name: string, day: number, status: Pod['status'] = {}) =>
      makePod(name, { metadata: { creationTimestamp: `2026-01-0${day}T00:00:00Z` }, status });
    const pods = [
      at('failed', 1, { phase: 'Failed' }),
      at('young', 4),
      at('succeeded', 2, { phase: 'Succeeded' }),
      at('old', 3),
    ];
    handler.handlePodAdditions(pods, signal);
    expect(told(workers)).toEqual(['create old', 'create young', 'create failed', 'create succeeded']);
  });

  test('N1: admits a pod against the active pods, without itself', () => {
    const seen: string[][] = [];
    const handlers = [
      {
        admit: (_pod: Pod, others: readonly Pod[]) => {
          seen.push(others.map((pod) => pod.metadata.name));
          return { admit: true } as const;
        },
      },
    ];
    const { handler, workers, status } = setUp({ admitHandlers: handlers });
    handler.handlePodAdditions([makePod('a')], signal);
    handler.handlePodAdditions([makePod('done')], signal);
    status.statuses.set('uid-done', { phase: 'Succeeded' });
    workers.terminated.add('uid-a');
    handler.handlePodAdditions([makePod('b')], signal);
    expect(seen).toEqual([[], ['a'], []]);
  });

  test('N1: a pod that must terminate is not admitted: its worker stops it, and it blocks no other pod', async () => {
    const asked: string[] = [];
    const hangs: AdmitHandler = {
      admit(pod, others) {
        asked.push(`${pod.metadata.name} beside ${others.map(({ metadata }) => metadata.name).join() || 'nobody'}`);
        return new Promise<AdmitResult>(() => {});
      },
    };
    const { handler, workers, unallocated } = setUp({ admitHandlers: [hangs] });
    const metadata = { deletionTimestamp: '2026-01-01T00:00:00Z' };
    unallocated.add('uid-never').add('uid-new');
    handler.handlePodAdditions(
      [makePod('never', { metadata }), makePod('granted', { metadata }), makePod('new')],
      signal,
    );
    expect(told(workers)).toEqual(['create never', 'create granted']);
    expect(asked).toEqual(['new beside granted']);
  });

  test('N1: admission counts a failed pod as active until its containers have stopped', () => {
    const { handler, status, workers } = setUp();
    const active = (): string[] => handler.activePods().map(({ metadata }) => metadata.name);
    handler.handlePodUpdates([makePod('evicted'), makePod('refused', { status: { phase: 'Failed' } })]);
    status.statuses.set('uid-evicted', { phase: 'Failed', reason: 'Evicted' });
    workers.terminationRequested.add('uid-evicted');
    expect(active()).toEqual(['evicted']);
    workers.terminated.add('uid-evicted');
    expect(active()).toEqual([]);
  });

  test('N1: admission does not count a rejected pod as active while its worker stops its containers', () => {
    const { handler, status, workers, unallocated } = setUp();
    handler.handlePodUpdates([makePod('refused')]);
    unallocated.add('uid-refused');
    status.statuses.set('uid-refused', { phase: 'Failed', reason: 'OutOfcpu' });
    workers.terminationRequested.add('uid-refused');
    expect(handler.activePods()).toEqual([]);
  });

  test('the status of a pod that was found terminated or rejected is not read again by later admissions', () => {
    const { handler, status, unallocated } = setUp();
    const refused = Array.from({ length: 1000 }, (_, index) => makePod(`r${index}`));
    for (const { metadata } of refused) {
      unallocated.add(metadata.uid);
      status.statuses.set(metadata.uid, { phase: 'Failed', reason: 'OutOfpods' });
    }
    handler.handlePodUpdates([makePod('runs'), ...refused]);
    const active = (): string[] => handler.activePods().map(({ metadata }) => metadata.name);
    expect(active()).toEqual(['runs']);
    let looks = 0;
    const { getPodStatus } = status;
    status.getPodStatus = (uid: string) => {
      looks += 1;
      return getPodStatus.call(status, uid);
    };
    expect([active(), looks]).toEqual([['runs'], 1]);
    // If a source shows the rejected pod again, its status is read once more.
    const [again] = refused;
    if (again !== undefined) handler.handlePodUpdates([again]);
    looks = 0;
    expect([active(), looks]).toEqual([['runs'], 2]);
  });

  test('N1: a pod that ran before a kubelet restart stays admitted, whatever pods were added since', () => {
    const room = {
      admit: (_pod: Pod, others: readonly Pod[]): AdmitResult =>
        others.length === 0 ? { admit: true } : { admit: false, reason: 'OutOfpods', message: 'full' },
    };
    const running = [{ ...makeRuntimePod('uid-runs'), name: 'runs' }];
    const { handler, workers, status } = setUp({ admitHandlers: [room], running });
    handler.handlePodAdditions([makePod('new'), makePod('runs'), makePod('runs', { uid: 'other' })], signal);
    expect(told(workers)).toEqual(['create runs']);
    expect([...status.statuses.keys()]).toEqual(['uid-new', 'other']);

    const full = setUp({ admitHandlers: [room], running });
    full.handler.handlePodAdditions([makePod('new')], signal);
    full.handler.handlePodAdditions([makePod('runs')], signal);
    expect(told(full.workers)).toEqual(['create new', 'create runs']);
  });

  test('admit handlers are notified of a running pod that is not admitted again, unless the pod is deleted', () => {
    const resumed: string[] = [];
    const noting = {
      admit: () => ({ admit: true }) as const,
      resumed: ({ metadata }: Pod) => void resumed.push(metadata.name),
    };
    const running = ['runs', 'deleted'].map((name) => ({ ...makeRuntimePod(`uid-${name}`), name }));
    const { handler } = setUp({ admitHandlers: [noting], running });
    const deleted = makePod('deleted', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } });
    handler.handlePodAdditions([makePod('new'), makePod('runs'), deleted], signal);
    expect(resumed).toEqual(['runs']);
  });

  test('N9: a running pod is not admitted again after a kubelet restart, except a static pod that is added after the first list of its source', () => {
    const refuse = { admit: () => ({ admit: false, reason: 'NodeShutdown', message: '' }) as const };
    const running = [{ ...makeRuntimePod('uid-runs'), name: 'runs' }];
    const annotations = { 'kubernetes.io/config.source': 'file' };
    const ofFile = makePod('runs', { metadata: { annotations } });
    const { handler, workers, status, setSourcesReady, readySources } = setUp({ admitHandlers: [refuse], running });
    setSourcesReady(false);
    readySources.add('http');
    handler.handlePodAdditions([ofFile], signal);
    expect(told(workers)).toEqual(['create runs']);
    // The pod is removed and added again before its worker starts to terminate.
    readySources.add('file');
    handler.handlePodRemoves([ofFile]);
    handler.handlePodAdditions([ofFile], signal);
    expect(told(workers)).toEqual(['create runs', 'create runs']);
    expect([...status.statuses.keys()]).toEqual([]);

    const late = setUp({ admitHandlers: [refuse], running });
    late.handler.handlePodAdditions([ofFile], signal);
    expect(told(late.workers)).toEqual([]);
    expect(late.status.statuses.get('uid-runs')).toMatchObject({ phase: 'Failed', reason: 'NodeShutdown' });

    // A pod of the API server is not admitted again, because the first list of the API server may be older than the
    // pod.
    const listed = setUp({ admitHandlers: [refuse], running });
    listed.handler.handlePodAdditions([makePod('runs')], signal);
    expect(told(listed.workers)).toEqual(['create runs']);
  });

  test.each([
    ['', false],
    [' and has not read the pod since', true],
  ])(
    'N9: a pod that this kubelet terminated must pass admission again although the cache still shows it running%s',
    async (_how, isUnread) => {
      const asked: string[] = [];
      const noting: AdmitHandler = {
        admit(pod) {
          asked.push(pod.metadata.uid);
          return { admit: false, reason: 'NodeShutdown', message: '' };
        },
      };
      const pod = makePod('runs');
      const running = [{ ...makeRuntimePod('uid-runs'), name: 'runs' }];
      const { handler, workers } = setUp({ admitHandlers: [noting], running, isUnread });
      // No source has reported the pod yet, so only the runtime knows it.
      await cleanUp(handler, running);
      expect(told(workers)).toEqual(['kill uid-runs']);
      handler.handlePodAdditions([pod], signal);
      expect(asked).toEqual([]);
      // From here on, the pod's worker has finished, and the pod is removed and added again.
      for (const cleanUps of [0, 1, 2]) {
        handler.handlePodRemoves([pod]);
        workers.known.clear();
        for (let done = 0; done < cleanUps; done++) await cleanUp(handler);
        handler.handlePodAdditions([pod], signal);
        expect(asked).toHaveLength(cleanUps + 1);
      }
    },
  );

  test('a rejected pod gets phase Failed with the reason and no worker', () => {
    const refuse = { admit: () => ({ admit: false, reason: 'NoRoom', message: 'full' }) as const };
    const { handler, workers, status, events } = setUp({ admitHandlers: [refuse] });
    const pod = makePod('a');
    // The API still shows the status from before a reboot of the machine.
    const running = { name: 'main', state: { running: {} }, ready: true, restartCount: 0, image: '', imageID: '' };
    const before: PodStatus = { phase: 'Running', podIP: '10.0.0.5', containerStatuses: [running] };
    const metadata = { ...pod.metadata, generation: 2 };
    handler.handlePodAdditions([{ ...pod, metadata, status: before }], signal);
    expect(workers.updates).toEqual([]);
    expect(status.statuses.get('uid-a')).toEqual({
      observedGeneration: 2,
      qosClass: 'BestEffort',
      phase: 'Failed',
      reason: 'NoRoom',
      message: 'Pod was rejected: full',
    });
    expect(events.lines).toEqual(['NoRoom: full']);
  });

  test('N1: admission reserves the resources of a pod, and resizes are retried when the pod is rejected', async () => {
    const { promise, resolve } = Promise.withResolvers<AdmitResult>();
    const { handler, retries, clock } = setUp({ admitHandlers: [{ admit: () => promise }] });
    handler.handlePodAdditions([makePod('a')], signal);
    await clock.advance(0);
    expect([handler.applicants().map(({ metadata }) => metadata.uid), retries]).toEqual([['uid-a'], []]);
    resolve({ admit: false, reason: 'NoRoom', message: 'full' });
    await vi.waitFor(() => expect(handler.applicants()).toEqual([]));
    await clock.advance(0);
    expect(retries).toEqual(['pods_removed']);
  });

  test('pods that are rejected or removed in one turn of the event loop cause one retry of pending resizes', async () => {
    const admit = (): AdmitResult => ({ admit: false, reason: 'NoRoom', message: 'full' });
    const { handler, retries, clock } = setUp({ admitHandlers: [{ admit }] });
    const pods = ['a', 'b', 'c'].map((name) => makePod(name));
    handler.handlePodAdditions(pods, signal);
    handler.handlePodRemoves(pods);
    await clock.advance(0);
    expect(retries).toEqual(['pods_removed']);
    handler.handlePodRemoves([]);
    await clock.advance(0);
    expect(retries).toEqual(['pods_removed', 'pods_removed']);
  });

  test('a retry of pending resizes that fails is logged, and the next removed pod causes another retry', async () => {
    const { handler, retries, clock, errors } = setUp({ retryFailures: [new Error('unknown quantity')] });
    handler.handlePodRemoves([]);
    await clock.advance(0);
    expect(errors).toEqual(['Failed to retry pending resizes of pods']);
    handler.handlePodRemoves([]);
    await clock.advance(0);
    expect(retries).toEqual(['pods_removed']);
  });

  test('F4: a terminated static pod that is desired again is restarted before all sources are ready; other pods wait', () => {
    const asked: string[] = [];
    const admit = (pod: Pod) => {
      asked.push(pod.metadata.uid);
      return { admit: true } as const;
    };
    const parts = setUp({ admitHandlers: [{ admit }] });
    const { handler, workers, status } = parts;
    parts.sourcesReady = false;
    parts.readySources.add('file');
    workers.terminationRequested.add('uid-a').add('uid-b');
    const source = (from: PodSource) => ({ 'kubernetes.io/config.source': from });
    const from = (name: string, of: PodSource) => {
      const pod = makePod(name);
      return { ...pod, metadata: { ...pod.metadata, annotations: source(of) } };
    };
    handler.handlePodAdditions([from('a', 'file'), from('b', 'api')], signal);
    expect([told(workers), asked]).toEqual([['create a', 'create b'], []]);
    workers.reused.add('uid-a').add('uid-b');
    status.setPodStatus(makePod('a'), { phase: 'Succeeded' });
    status.setPodStatus(makePod('b'), { phase: 'Succeeded' });
    handler.restartReused(signal);
    expect(asked).toEqual(['uid-a']);
    expect(told(workers)).toEqual(['create a', 'create b', 'create a']);
    // The state of the first instance is not reported for the second.
    expect([status.getPodStatus('uid-a'), status.getPodStatus('uid-b')?.phase]).toEqual([undefined, 'Succeeded']);
    handler.restartReused(signal);
    expect(asked).toEqual(['uid-a']);
  });

  test('F4: a static pod that was added again while its old containers were stopped is started afterwards, unless it was rejected', () => {
    const admit = (pod: Pod): AdmitResult =>
      pod.metadata.name === 'a' ? { admit: true } : { admit: false, reason: 'NoRoom', message: 'full' };
    const parts = setUp({ admitHandlers: [{ admit }] });
    const { handler, workers } = parts;
    parts.sourcesReady = false;
    parts.readySources.add('file');
    const annotations = { 'kubernetes.io/config.source': 'file' };
    const made = (name: string): Pod => {
      const pod = makePod(name);
      return { ...pod, metadata: { ...pod.metadata, annotations } };
    };
    workers.terminationRequested.add('uid-a');
    handler.handlePodAdditions([made('a'), made('b')], signal);
    handler.restartReused(signal);
    expect(told(workers)).toEqual(['create a']);
    // The worker of pod a has no record of the pod's source, because the worker never had the pod from a source.
    workers.terminationRequested.delete('uid-a');
    workers.known.delete('uid-a');
    handler.restartReused(signal);
    handler.restartReused(signal);
    expect(told(workers)).toEqual(['create a', 'create a']);
  });

  test('a pod whose termination was requested is not admitted again', () => {
    const refuse = { admit: () => ({ admit: false, reason: 'NoRoom', message: 'full' }) as const };
    const { handler, workers } = setUp({ admitHandlers: [refuse] });
    workers.terminationRequested.add('uid-a');
    handler.handlePodAdditions([makePod('a')], signal);
    expect(told(workers)).toEqual(['create a']);
  });
});

describe('pod in admission', () => {
  function asked() {
    let answer: (result: AdmitResult) => void = () => {};
    const released: string[] = [];
    let stop: AbortSignal | undefined;
    const slow: AdmitHandler = {
      admit: (_pod, _others, ending) => {
        stop = ending;
        return new Promise((resolve) => {
          answer = resolve;
        });
      },
      release: ({ metadata }) => void released.push(metadata.name),
    };
    const parts = setUp({ admitHandlers: [slow] });
    parts.handler.handlePodAdditions([makePod('a')], signal);
    return { ...parts, released, isStopped: () => stop?.aborted, answer: (result: AdmitResult) => answer(result) };
  }

  test('P1: a pod has no worker until it is admitted, and then starts with its newest version', async () => {
    const { handler, workers, answer } = asked();
    const changed = makePod('a', { metadata: { labels: { changed: 'yes' } } });
    handler.handlePodUpdates([changed]);
    handler.handlePodSyncs([changed]);
    await cleanUp(handler);
    expect(told(workers)).toEqual([]);
    expect(handler.activePods()).toEqual([]);
    answer({ admit: true });
    await expect.poll(() => told(workers)).toEqual(['create a']);
    expect(workers.updates[0]?.pod).toEqual(changed);
    expect(handler.activePods()).toEqual([changed]);
  });

  test('N1: container events and changes do not start a pod after it was rejected or forgotten', async () => {
    const { handler, workers, answer, status } = asked();
    answer({ admit: false, reason: 'NodeShutdown', message: 'no' });
    await expect.poll(() => status.statuses.size).toBe(1);
    handler.handlePodSyncs([makePod('a')]);
    handler.handlePodUpdates([makePod('a', { metadata: { labels: { changed: 'yes' } } })]);
    expect(told(workers)).toEqual([]);
    handler.handlePodUpdates([makePod('a', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } })]);
    expect(told(workers)).toEqual(['update a']);
  });

  test('a pod that is deleted during its admission is withdrawn, and its worker stops its running containers', async () => {
    const { handler, workers, answer, released, isStopped, status } = asked();
    handler.handlePodUpdates([makePod('a', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } })]);
    expect(isStopped()).toBe(true);
    expect(told(workers)).toEqual(['update a']);
    answer({ admit: true });
    await expect.poll(() => released).toEqual(['a']);
    expect(told(workers)).toEqual(['update a']);
    expect(status.statuses.size).toBe(0);
  });

  test('a pod that its source removes during its admission is withdrawn', () => {
    const { handler, isStopped } = asked();
    handler.handlePodRemoves([makePod('a')]);
    expect(isStopped()).toBe(true);
    expect(handler.isUndecided('uid-a')).toBe(false);
  });
});

describe('updates of pods', () => {
  const [one, other] = [makePod('a'), makePod('a', { metadata: { labels: { changed: 'yes' } } })];
  const warn = {
    admit: () => ({ admit: true }) as const,
    updated: (before: Pod, pod: Pod) =>
      before === pod ? undefined : { reason: 'Change', message: `${before === one} ${pod === other}` },
  };

  test('records one warning for an unsupported change of a pod, and still passes the update to the pod worker', () => {
    const { handler, workers, events } = setUp({ admitHandlers: [warn] });
    handler.handlePodAdditions([one], signal);
    handler.handlePodUpdates([other]);
    handler.handlePodUpdates([other]);
    expect(events.lines).toEqual(['Change: true true']);
    expect(told(workers)).toEqual(['create a', 'update a', 'update a']);
  });

  test('records no warning for a change of an unknown pod, or if no handler checks updates', () => {
    const { handler, events } = setUp({ admitHandlers: [warn, { admit: () => ({ admit: true }) }] });
    handler.handlePodUpdates([one]);
    expect(events.lines).toEqual([]);
  });
});

describe('removals of pods', () => {
  test('kills a pod after its source removed it', () => {
    const { handler, workers, podManager } = setUp();
    const pod = makePod('a');
    podManager.addPod(pod);
    handler.handlePodRemoves([pod]);
    expect(told(workers)).toEqual(['kill a']);
    expect(podManager.getPods()).toEqual([]);
  });

  test('F1: kills no pod before every source has reported', () => {
    const { handler, workers, setSourcesReady } = setUp();
    setSourcesReady(false);
    handler.handlePodRemoves([makePod('a')]);
    expect(workers.updates).toEqual([]);
  });

  test('P1: a pod that was removed before all sources were ready is not terminated again after housekeeping terminated it', async () => {
    const { handler, workers, setSourcesReady } = setUp();
    setSourcesReady(false);
    handler.handlePodRemoves([makePod('a')]);
    setSourcesReady(true);
    await cleanUp(handler);
    handler.early.terminateAll();
    expect(told(workers)).toEqual([]);
  });
});

function cleanUp({ handlePodCleanups }: Parts['handler'], listed: readonly RuntimePod[] = []): Promise<void> {
  return handlePodCleanups(listed, new AbortController().signal);
}

describe('housekeeping', () => {
  test('N5: housekeeping keeps the cgroups of desired, terminating, running and newly added pods, and removes all others', async () => {
    const { handler, podManager, groupsOf } = setUp();
    podManager.addPod(makePod('a'));
    expect(groupsOf()).toBeUndefined();
    await cleanUp(handler, [makeRuntimePod('orphan')]);
    podManager.addPod(makePod('later'));
    const isKnown = groupsOf();
    expect(['uid-a', 'orphan', 'uid-later', 'stranger'].map((uid) => isKnown?.(uid))).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });

  test('W6: housekeeping does not wait for the disk, and keeps directories of pods that were added while the disk was slow', async () => {
    const { handler, workers, keptDirs, podManager, setDisk } = setUp();
    const disk = Promise.withResolvers<void>();
    setDisk(disk.promise);
    podManager.addPod(makePod('a'));
    workers.known.set('uid-a', { state: 'sync', orphan: false, hasConfig: true, static: true });
    await cleanUp(handler, [makeRuntimePod('orphan')]);
    expect(told(workers)).toEqual(['kill orphan']);
    handler.handlePodAdditions([makePod('b')], new AbortController().signal);
    expect(keptDirs).toEqual([]);
    disk.resolve();
    await vi.waitUntil(() => keptDirs.length > 0);
    expect(keptDirs).toEqual(['uid-a', 'uid-b', 'orphan']);
  });

  test('P6: kills a pod that only the runtime knows with a grace period of one second, and keeps its directory until its containers are gone', async () => {
    const { handler, workers, keptDirs, podManager } = setUp();
    podManager.addPod(makePod('a'));
    workers.known.set('uid-a', { state: 'sync', orphan: false, hasConfig: true, static: true });
    await cleanUp(handler, [makeRuntimePod('orphan')]);
    expect(told(workers)).toEqual(['kill orphan']);
    expect(workers.updates[0]?.killPodOptions).toEqual({ gracePeriodSecondsOverride: 1 });
    expect(keptDirs).toEqual(['uid-a', 'orphan']);
  });

  test('K4: forgets the runtime state of a pod when its containers and sandbox are gone', async () => {
    const { handler, podManager, workers, forgotten } = setUp();
    const pod = makePod('a');
    podManager.addPod(pod);
    workers.known.set('uid-a', { state: 'sync', orphan: false, hasConfig: true, static: true });
    await cleanUp(handler);
    podManager.removePod(pod);
    await cleanUp(handler);
    expect(forgotten).toEqual([]);
    workers.known.clear();
    await cleanUp(handler);
    expect(forgotten).toEqual(['uid-a']);
  });

  test('P3: treats a reused UID as a new pod without the state of the first pod', async () => {
    const { handler, podManager, workers, status, forgotten } = setUp();
    podManager.addPod(makePod('a'));
    workers.known.set('uid-a', { state: 'terminated', orphan: false, hasConfig: true, static: true });
    status.statuses.set('uid-a', { phase: 'Running' });
    await cleanUp(handler);
    expect([...status.statuses.keys()]).toEqual(['uid-a']);
    expect(status.begunAnew).toEqual([]);
    workers.known.clear();
    await cleanUp(handler);
    expect([...status.statuses.keys()]).toEqual([]);
    expect(forgotten).toEqual(['uid-a']);
    expect(told(workers)).toEqual(['create a']);
    expect(status.begunAnew).toEqual(['uid-a']);
  });

  test('P3: a pod that was forgotten and added again starts as a new pod while the runtime still has the first pod', async () => {
    const { handler, podManager, workers, status } = setUp({ running: [makeRuntimePod('uid-a')] });
    handler.handlePodAdditions([makePod('a'), makePod('b')], signal);
    for (const name of ['a', 'b']) podManager.removePod(makePod(name));
    workers.terminated.add('uid-a').add('uid-b');
    workers.known.clear();
    await cleanUp(handler);
    expect(status.begunAnew).toEqual([]);
    handler.handlePodAdditions([makePod('a'), makePod('b')], signal);
    expect(status.begunAnew).toEqual(['uid-a']);
    handler.handlePodAdditions([makePod('a')], signal);
    expect(status.begunAnew).toEqual(['uid-a']);
  });

  test('N1: admits pods with reused UIDs again, one after another', async () => {
    const asked: string[] = [];
    const one: AdmitHandler = {
      admit: (pod, active) => {
        asked.push(`${pod.metadata.name} beside ${active.map(({ metadata }) => metadata.name).join() || 'nobody'}`);
        return active.length === 0 ? { admit: true } : { admit: false, reason: 'Full', message: 'there is one' };
      },
    };
    const { handler, podManager, workers, status } = setUp({ admitHandlers: [one] });
    for (const name of ['a', 'b']) podManager.addPod(makePod(name));
    await cleanUp(handler);
    expect(asked).toEqual(['a beside nobody', 'b beside a']);
    expect(told(workers)).toEqual(['create a']);
    expect(status.statuses.get('uid-b')).toMatchObject({ phase: 'Failed', reason: 'Full' });
  });

  test('P3, K4: housekeeping forgets pods that were removed, or removed and added again, since its last run', async () => {
    const { handler, podManager, workers, forgotten } = setUp();
    const [gone, again] = [makePod('gone'), makePod('again')];
    handler.handlePodAdditions([gone, again], signal);
    podManager.removePod(gone);
    workers.known.clear();
    await cleanUp(handler);
    expect(forgotten).toEqual(['uid-again', 'uid-gone']);
    await cleanUp(handler);
    expect(forgotten).toEqual(['uid-again', 'uid-gone']);
  });

  test('P6: a pod that was added or stopped after the runtime was listed does not count as orphaned', async () => {
    const { handler, workers } = setUp();
    workers.known.set('came', { state: 'sync', orphan: false, hasConfig: true, static: true });
    workers.terminated.add('stopped');
    await cleanUp(
      handler,
      ['came', 'stopped', 'orphan'].map((uid) => makeRuntimePod(uid)),
    );
    expect(told(workers)).toEqual(['kill orphan']);
  });

  test('forgets the statuses of pods that no source has any more', async () => {
    const { handler, status } = setUp();
    status.statuses.set('uid-gone', { phase: 'Running' });
    await cleanUp(handler);
    expect([...status.statuses.keys()]).toEqual([]);
  });
});

test('the periodic tick syncs only pods past their activeDeadlineSeconds, until they terminate', async () => {
  const { handler, podManager, status, clock, workers } = setUp();
  podManager.addPod(makePod('free'));
  podManager.addPod(makePod('bound', { spec: { activeDeadlineSeconds: 5 } }));
  status.statuses.set('uid-bound', { startTime: '2026-01-01T00:00:00Z' });
  expect(handler.podsPastDeadline()).toEqual([]);
  await clock.advance(5000);
  expect(handler.podsPastDeadline().map((pod) => pod.metadata.name)).toEqual(['bound']);
  workers.terminationRequested.add('uid-bound');
  expect(handler.podsPastDeadline()).toEqual([]);
});

describe('status in the API', () => {
  const annotations = { 'kubernetes.io/config.source': 'file' };

  test('F3: adding a static pod checks its mirror pod; adding another pod does not', () => {
    const { handler, mirrorsSeen, statusesSeen } = setUp();
    handler.handlePodAdditions([makePod('etcd', { metadata: { annotations } }), makePod('web')], signal);
    expect(mirrorsSeen).toEqual(['etcd_default']);
    expect(statusesSeen).toEqual(['uid-etcd', 'uid-web']);
  });

  test('F3: housekeeping checks mirror pods whose static pod is gone', async () => {
    const { handler, podManager, mirrorsSeen } = setUp();
    podManager.orphanedMirrors = ['gone_default'];
    await cleanUp(handler);
    expect(mirrorsSeen).toEqual(['gone_default']);
  });

  test("a status change in the API is compared with the kubelet's status, and syncs the pod only if it has readiness gates", () => {
    const { handler, workers, statusesSeen } = setUp();
    handler.handlePodReconcile([makePod('web')]);
    expect(told(workers)).toEqual([]);
    expect(statusesSeen).toEqual(['uid-web']);
    workers.known.set('uid-gated', { orphan: false, hasConfig: true, static: false, state: 'sync' });
    handler.handlePodReconcile([makePod('gated', { spec: { readinessGates: [{ conditionType: 'example.com/up' }] } })]);
    expect(told(workers)).toEqual(['sync gated']);
  });

  test('S1: terminates a pod that the API shows as terminal, unless its worker already terminates the pod', () => {
    const { handler, workers } = setUp();
    const ended = makePod('ended', { status: { phase: 'Failed' } });
    handler.handlePodReconcile([ended]);
    expect(told(workers)).toEqual([]);
    workers.known.set('uid-ended', { orphan: false, hasConfig: true, static: false, state: 'sync' });
    handler.handlePodReconcile([makePod('ended', { status: { phase: 'Running' } })]);
    expect(told(workers)).toEqual([]);
    handler.handlePodReconcile([ended]);
    expect(told(workers)).toEqual(['sync ended']);
    workers.terminationRequested.add('uid-ended');
    handler.handlePodReconcile([ended]);
    expect(told(workers)).toEqual(['sync ended']);
  });
});

test('K4: housekeeping stops the probes of pods that can have no running container', async () => {
  const { handler, workers, probes } = setUp();
  const worker = { orphan: false, hasConfig: true, static: false };
  workers.known.set('uid-a', { ...worker, state: 'sync' });
  workers.known.set('uid-b', { ...worker, state: 'terminating' });
  workers.known.set('uid-c', { ...worker, state: 'terminated' });
  await handler.handlePodCleanups([], new AbortController().signal);
  expect(probes.calls).toEqual(['keep uid-a uid-b']);
});

test('N1: a finished pod whose worker is forgotten and that is killed again is among the active pods, as isActive says', async () => {
  const { handler, workers, status } = setUp();
  const pod = makePod('a', { status: { phase: 'Running' } });
  handler.handlePodAdditions([pod], signal);
  workers.terminated.add('uid-a');
  status.setPodStatus(pod, { phase: 'Failed' });
  handler.handlePodReconcile([{ ...pod, status: { phase: 'Failed' } }]);
  expect(handler.activePods()).toEqual([]);
  // Its UID was to be reused, so that housekeeping forgets the worker; the pod is not restarted, because it has failed.
  workers.terminated.clear();
  workers.known.clear();
  await handler.handlePodCleanups([], signal);
  workers.terminationRequested.add('uid-a');
  expect(handler.activePods()).toHaveLength(1);
});
