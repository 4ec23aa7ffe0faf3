import { seededRandom, sleep } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import type { PodLifecycleEvent, PodSyncer, PodUpdate, ProbeUpdate } from '@node-agent/contracts';
import { noMetrics, silentLogger } from '@node-agent/telemetry';
import { describe, expect, test } from 'vitest';
import type { Dependencies, RuntimeGate } from '../src/dependencies.ts';
import { explainNode } from '../src/explain/explain-node.ts';
import { Kubelet } from '../src/kubelet.ts';
import type { RuntimeReadiness } from '../src/ports.ts';
import {
  container,
  emptyStatus,
  makePod,
  makeRuntimePod,
  PlainPodManager,
  PlainProbes,
  PlainStatuses,
  RecordingWorkers,
  recordEvents,
  unreadCache,
} from './fakes.ts';

/** A pod source that a test pushes updates into. */
class Source<T> implements AsyncIterable<T> {
  readonly #items: T[] = [];
  #wake: () => void = () => {};

  push(item: T): void {
    this.#items.push(item);
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      for (let item = this.#items.shift(); item !== undefined; item = this.#items.shift()) yield item;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

const ok = { ok: true, reason: '', message: '' };

const healthyRuntime: Dependencies['runtime'] = {
  getPods: async () => [],
  getPodStatus: async () => emptyStatus(makePod('a')),
  syncPod: async () => ({ results: [] }),
  killPod: async () => {},
  containerEnded: () => {},
  forget: () => {},
  status: async () => ({ runtimeReady: ok, networkReady: ok }),
};

function setUp(overrides: Partial<Dependencies> = {}) {
  const clock = new FakeClock();
  const updates = new Source<PodUpdate>();
  const plegEvents = new Source<PodLifecycleEvent>();
  const workers = new RecordingWorkers();
  const events = recordEvents();
  const state = {
    readiness: { runtimeReady: ok, networkReady: ok } as RuntimeReadiness | Error,
    sourcesReady: true,
    plegFault: undefined as string | undefined,
    started: [] as string[],
    deleted: [] as string[],
    syncer: undefined as PodSyncer | undefined,
    gate: undefined as RuntimeGate | undefined,
  };
  const kubelet = new Kubelet(
    {
      clock,
      random: seededRandom(1),
      logger: silentLogger,
      metrics: noMetrics,
      recorder: events.recorder,
      podConfig: {
        updates,
        seenAllSources: () => state.sourcesReady,
        sourceReady: (source) => state.sourcesReady || source === 'file',
        allSourcesSeen: async (signal) => {
          while (!state.sourcesReady) await sleep(clock, 100, signal);
        },
      },
      podManager: new PlainPodManager(),
      podWorkers: (syncer, gate) => {
        state.syncer = syncer;
        state.gate = gate;
        return workers;
      },
      pleg: {
        start: async () => void state.started.push('pleg'),
        events: plegEvents,
        hint: () => {},
        healthy: () => state.plegFault,
      },
      podCache: {
        ...unreadCache,
        get: () => ({ status: emptyStatus(makePod('a')) }),
        hasSeen: () => true,
        runningPods: () => [],
      },
      runtime: {
        ...healthyRuntime,
        status: async () => {
          if (state.readiness instanceof Error) throw state.readiness;
          return state.readiness;
        },
      },
      status: new PlainStatuses(),
      generatePodStatus: () => ({ phase: 'Running' }),
      volumes: {
        start: async () => {},
        makePodDataDirs: async () => {},
        waitForAttachAndMount: async () => {},
        waitForUnmount: async () => {},
        podVolumesExist: async () => false,
        cleanupOrphanedPodDirs: async () => {},
      },
      containerGc: {
        garbageCollect: async () => {},
        deleteContainersInPod: (_status, id, removeAll) => void state.deleted.push(removeAll ? `all of ${id}` : id),
      },
      admitHandlers: [],
      services: [],
      runtimeDependentServices: [{ name: 'logs', start: async () => void state.started.push('logs') }],
      ...overrides,
    },
    { configuration: { maxPods: 7 }, nodeRef: { kind: 'Node', name: 'n1' } },
  );
  const controller = new AbortController();
  return { kubelet, clock, updates, plegEvents, workers, events, state, controller };
}

const add = (name: string): PodUpdate => ({ op: 'ADD', source: 'file', pods: [makePod(name)] });

describe('the sync loop', () => {
  test('gives an added pod a worker, and kills the pod after its source removed it', async () => {
    const { kubelet, clock, updates, workers, controller } = setUp();
    const run = kubelet.run(controller.signal);
    updates.push(add('a'));
    await clock.advance(200);
    updates.push({ op: 'REMOVE', source: 'file', pods: [makePod('a')] });
    await clock.advance(200);
    expect(workers.updates.map(({ updateType }) => updateType)).toEqual(['create', 'kill']);
    controller.abort();
    await clock.advance(0);
    updates.push(add('late'));
    await clock.settle();
    expect(workers.updates).toHaveLength(2);
    await run;
  });

  test('K2: accepts pods while the runtime is down, but starts their containers only when the runtime is back', async () => {
    const errors: string[] = [];
    const logger = { ...silentLogger, error: (_fields: object, message: string) => void errors.push(message) };
    const { kubelet, clock, updates, workers, state, controller } = setUp({ logger });
    void kubelet.run(controller.signal);
    await clock.advance(1000);
    state.readiness = new Error('connection refused');
    await clock.advance(60_000);
    updates.push(add('a'));
    let passed = false;
    void state.gate?.passed(controller.signal).then(() => {
      passed = true;
    });
    await clock.advance(60_000);
    expect(workers.updates.map(({ updateType }) => updateType)).toEqual(['create']);
    expect(passed).toBe(false);
    expect(kubelet.health().runtime).toBe('container runtime is down; connection refused');
    expect(errors).toHaveLength(1);
    state.readiness = { runtimeReady: ok, networkReady: ok };
    await clock.advance(10_000);
    expect(passed).toBe(true);
    expect(kubelet.health()).toEqual({ syncloop: undefined, pleg: undefined, runtime: undefined });
    controller.abort();
  });

  test('reports a runtime that does not respond as a node problem immediately, while the node stays Ready for 30 s', async () => {
    const { kubelet, clock, state, controller } = setUp();
    void kubelet.run(controller.signal);
    await clock.advance(1000);
    state.readiness = new Error('connection refused');
    await clock.advance(6_000);
    expect(kubelet.health()).toMatchObject({ runtime: undefined, runtimeSilence: 'no answer: connection refused' });
    expect(explainNode(kubelet).problems).toEqual(['runtime: no answer: connection refused']);
    expect(kubelet.readiness().runtimeErrors).toEqual([]);
    state.readiness = { runtimeReady: ok, networkReady: ok };
    await clock.advance(2_000);
    expect(explainNode(kubelet).problems).toEqual([]);
    controller.abort();
  });

  test('requests the runtime status immediately when checkRuntime is called, without waiting for the end of the period', async () => {
    const { kubelet, clock, state, controller } = setUp();
    void kubelet.run(controller.signal);
    await clock.advance(1000);
    state.readiness = new Error('connection refused');
    await clock.advance(10);
    expect(explainNode(kubelet).problems).toEqual([]);
    kubelet.checkRuntime();
    await clock.settle();
    expect(explainNode(kubelet).problems).toEqual(['runtime: no answer: connection refused']);
    controller.abort();
  });

  test('N1: accepts no pods before the runtime was healthy for the first time', async () => {
    const { kubelet, clock, updates, workers, state, controller } = setUp();
    state.readiness = new Error('connection refused');
    void kubelet.run(controller.signal);
    updates.push(add('a'));
    await clock.advance(60_000);
    expect(workers.updates).toEqual([]);
    expect(kubelet.health().runtime).toBe(
      'container runtime status check may not have completed yet; connection refused',
    );
    state.readiness = { runtimeReady: ok, networkReady: ok };
    await clock.advance(10_000);
    expect(workers.updates.map(({ updateType }) => updateType)).toEqual(['create']);
    controller.abort();
  });

  test('starts runtime-dependent services once, when the runtime first responds', async () => {
    const { kubelet, clock, state, controller } = setUp();
    state.readiness = new Error('connection refused');
    void kubelet.run(controller.signal);
    await clock.advance(20_000);
    expect(state.started).toEqual([]);
    state.readiness = { runtimeReady: ok, networkReady: ok };
    await clock.advance(20_000);
    expect(state.started).toEqual(['pleg', 'logs']);
    controller.abort();
  });

  test('P7: wakes the worker of a pod whose container died, and cleans up the container', async () => {
    const { kubelet, clock, updates, plegEvents, workers, state, controller } = setUp();
    void kubelet.run(controller.signal);
    updates.push(add('a'));
    await clock.advance(200);
    plegEvents.push({ podUid: 'uid-a', type: 'ContainerDied', containerId: 'c1' });
    plegEvents.push({ podUid: 'uid-a', type: 'ContainerRemoved', containerId: 'c0' });
    plegEvents.push({ podUid: 'stranger', type: 'ContainerDied', containerId: 'c2' });
    await clock.advance(0);
    expect(workers.updates.map(({ updateType }) => updateType)).toEqual(['create', 'sync']);
    expect(state.deleted).toEqual(['c1', 'c2']);
    controller.abort();
  });

  test('K5: a container and a probe of a running pod are followed while a long list of other pods is added', async () => {
    const clock = new FakeClock();
    const podManager = new PlainPodManager();
    const probes = new PlainProbes();
    const seen: string[] = [];
    podManager.addPod = (pod) => {
      podManager.updatePod(pod);
      seen.push(pod.metadata.uid);
      clock.spend(10);
      if (pod.metadata.uid !== 'uid-5') return;
      plegEvents.push({ podUid: 'uid-runs', type: 'ContainerDied', containerId: 'c1' });
      probes.updates.push({ podUid: 'uid-runs', containerId: 'c2', kind: 'liveness', result: 'failure' });
    };
    const { kubelet, updates, plegEvents, workers, controller } = setUp({ clock, podManager, probes });
    const { updatePod } = workers;
    workers.updatePod = (options) => {
      if (options.updateType === 'sync') seen.push(`sync ${options.pod?.metadata.uid}`);
      updatePod.call(workers, options);
    };
    void kubelet.run(controller.signal);
    updates.push(add('runs'));
    await clock.advance(200);
    const pods = Array.from({ length: 20 }, (_, index) => makePod(`${index}`));
    updates.push({ op: 'ADD', source: 'api', pods });
    while (!seen.includes('uid-19')) await clock.advance(0);
    expect(seen.slice(0, -4).filter((what) => what === 'sync uid-runs')).toHaveLength(2);
    controller.abort();
  });

  test('C5: notifies the runtime of an exited container, so that its preStop hook is not waited for', async () => {
    const ended: string[] = [];
    const runtime = {
      ...healthyRuntime,
      containerEnded: (uid: string, id: string) => void ended.push(`${uid} ${id}`),
    };
    const { kubelet, clock, updates, plegEvents, controller } = setUp({ runtime });
    void kubelet.run(controller.signal);
    updates.push(add('a'));
    await clock.advance(200);
    plegEvents.push({ podUid: 'uid-a', type: 'ContainerStarted', containerId: 'c1' });
    plegEvents.push({ podUid: 'uid-a', type: 'ContainerDied', containerId: 'c1' });
    await clock.advance(0);
    expect(ended).toEqual(['uid-a c1']);
    controller.abort();
  });

  test('S3: keeps the containers of an evicted pod until it has terminated, for its status', async () => {
    const { kubelet, clock, updates, plegEvents, workers, state, controller } = setUp();
    void kubelet.run(controller.signal);
    updates.push(add('a'));
    await clock.advance(200);
    for (const how of ['ending', 'ended'] as const) {
      workers.evicted.set('uid-a', how);
      plegEvents.push({ podUid: 'uid-a', type: 'ContainerDied', containerId: how });
      await clock.advance(0);
    }
    expect(state.deleted).toEqual(['ending', 'all of ended']);
    controller.abort();
  });

  test('removes all containers of a deleted pod when its worker has cleaned up, and keeps those of a completed pod', async () => {
    const { kubelet, clock, updates, workers, state, controller } = setUp();
    void kubelet.run(controller.signal);
    updates.push(add('a'));
    await clock.advance(200);
    const pod = makePod('a');
    const cleanUp = async (): Promise<void> => {
      const cleaned = state.syncer?.syncTerminatedPod(pod, emptyStatus(pod), controller.signal);
      await clock.advance(100);
      await cleaned;
    };
    await cleanUp();
    expect(state.deleted).toEqual([]);
    workers.evicted.set('uid-a', 'ended');
    await cleanUp();
    expect(state.deleted).toEqual(['all of ']);
    controller.abort();
  });

  test('F1: housekeeping first runs when every source is ready, and later only after pod changes', async () => {
    const { kubelet, clock, updates, workers, state, controller } = setUp();
    state.sourcesReady = false;
    void kubelet.run(controller.signal);
    await clock.advance(10_000);
    expect(workers.syncKnownPodsCalls).toBe(0);
    state.sourcesReady = true;
    await clock.advance(2000);
    expect(workers.syncKnownPodsCalls).toBe(1);
    await clock.advance(20_000);
    expect(workers.syncKnownPodsCalls).toBe(1);
    updates.push(add('a'));
    await clock.advance(2000);
    expect(workers.syncKnownPodsCalls).toBe(2);
    await clock.advance(60_000);
    expect(workers.syncKnownPodsCalls).toBe(3);
    controller.abort();
  });

  test.each([
    ['UPDATE', 'Running', 0],
    ['RECONCILE', 'Running', 0],
    ['RECONCILE', 'Failed', 1],
    ['DELETE', 'Running', 1],
    ['REMOVE', 'Running', 1],
  ] as const)(
    'K5: after the configuration update %s of a pod that is %s, housekeeping runs %i times',
    async (op, phase, passes) => {
      const { kubelet, clock, updates, workers, controller } = setUp();
      void kubelet.run(controller.signal);
      updates.push(add('a'));
      await clock.advance(4000);
      const before = workers.syncKnownPodsCalls;
      updates.push({ op, source: 'api', pods: [makePod('a', { status: { phase } })] });
      await clock.advance(4000);
      expect(workers.syncKnownPodsCalls - before).toBe(passes);
      controller.abort();
    },
  );

  test.each([
    ['a pod that runs', 'uid-a', 0],
    ['a pod that terminates', 'uid-b', 1],
    ['a pod that has terminated', 'uid-c', 1],
    ['a pod that no source has', 'uid-d', 1],
  ])('K5, P6: after a change of a container of %s, housekeeping runs %3$i times', async (_what, podUid, passes) => {
    const { kubelet, clock, updates, plegEvents, workers, controller } = setUp();
    void kubelet.run(controller.signal);
    for (const name of ['a', 'b', 'c']) updates.push(add(name));
    await clock.advance(4000);
    workers.terminationRequested.add('uid-b');
    workers.terminated.add('uid-c');
    workers.couldHaveRunningContainers = (uid) => !workers.terminated.has(uid);
    const before = workers.syncKnownPodsCalls;
    plegEvents.push({ podUid, type: 'ContainerDied', containerId: 'c1' });
    await clock.advance(4000);
    expect(workers.syncKnownPodsCalls - before).toBe(passes);
    controller.abort();
  });

  test('housekeeping runs after a pod sync that changed something or failed, not after an idle sync or a restart', async () => {
    let sync: () => Promise<{ results: { action: string; target: string }[] }> = async () => ({ results: [] });
    const { kubelet, clock, workers, state, controller } = setUp({
      runtime: { ...healthyRuntime, syncPod: () => sync() },
    });
    void kubelet.run(controller.signal);
    await clock.advance(2000);
    const pod = makePod('a');
    const passes = async (last = emptyStatus(pod)): Promise<number> => {
      const before = workers.syncKnownPodsCalls;
      await state.syncer?.syncPod('sync', pod, undefined, last, controller.signal).catch(() => {});
      await clock.advance(2000);
      return workers.syncKnownPodsCalls - before;
    };
    expect(await passes()).toBe(0);
    sync = async () => ({ results: [{ action: 'StartContainer', target: 'main' }] });
    expect(await passes()).toBe(1);
    const hasRun = { ...emptyStatus(pod), containers: [container('exited')] };
    expect(await passes(hasRun)).toBe(0);
    sync = async () => ({ results: [{ action: 'ResizePodInPlace', target: 'a' }] });
    expect(await passes(hasRun)).toBe(1);
    sync = () => Promise.reject(new Error('broken'));
    expect(await passes()).toBe(1);
    controller.abort();
  });

  test('P6, F1: a pod that was removed before every source was ready is terminated when every source is ready, unless it was added again', async () => {
    const { kubelet, clock, updates, workers, state, controller } = setUp({
      runtime: { ...healthyRuntime, getPods: () => new Promise(() => {}) },
    });
    state.sourcesReady = false;
    void kubelet.run(controller.signal);
    updates.push({ op: 'ADD', source: 'file', pods: [makePod('a'), makePod('b')] });
    await clock.advance(0);
    state.readiness = new Error('the runtime is away');
    updates.push({ op: 'REMOVE', source: 'file', pods: [makePod('a'), makePod('b')] });
    updates.push(add('b'));
    await clock.advance(30_000);
    const told = (): string[] => workers.updates.map(({ updateType, pod }) => `${updateType} ${pod?.metadata.name}`);
    expect(told()).toEqual(['create a', 'create b', 'create b']);
    state.sourcesReady = true;
    await clock.advance(1000);
    expect(told().slice(3)).toEqual(['kill a']);
    controller.abort();
  });

  test('F4: before all sources are ready, terminates a pod without a worker if a desired static pod has its name', async () => {
    const old = { ...makeRuntimePod('old'), name: 'a' };
    const { kubelet, clock, updates, workers, state, controller } = setUp({
      podCache: { ...unreadCache, runningPods: () => ['old'] },
      runtime: {
        ...healthyRuntime,
        getPods: async () => [
          { ...old, source: 'file' },
          { ...old, uid: 'of-url', source: 'http' },
        ],
      },
    });
    state.sourcesReady = false;
    void kubelet.run(controller.signal);
    const annotations = { 'kubernetes.io/config.source': 'file' };
    updates.push({ op: 'ADD', source: 'file', pods: [makePod('a', { metadata: { annotations } })] });
    await clock.advance(10_000);
    const kills = workers.updates.filter(({ updateType }) => updateType === 'kill');
    expect(kills).toMatchObject([{ runningPod: { uid: 'old' }, killPodOptions: { gracePeriodSecondsOverride: 1 } }]);
    expect(workers.syncKnownPodsCalls).toBe(0);
    state.sourcesReady = true;
    await clock.advance(2000);
    expect(workers.syncKnownPodsCalls).toBe(1);
    controller.abort();
  });

  test('F4: a pod that was removed before all sources were ready is terminated when a static pod replaces it', async () => {
    const { kubelet, clock, updates, workers, state, controller } = setUp();
    state.sourcesReady = false;
    void kubelet.run(controller.signal);
    const annotations = { 'kubernetes.io/config.source': 'file' };
    const [before, after] = ['old', 'new'].map((uid) => makePod('a', { uid, metadata: { annotations } }));
    if (before === undefined || after === undefined) throw new Error('two pods');
    updates.push({ op: 'ADD', source: 'file', pods: [before] });
    updates.push({ op: 'REMOVE', source: 'file', pods: [before] });
    await clock.advance(1000);
    const told = (): string[] => workers.updates.map(({ updateType, pod }) => `${updateType} ${pod?.metadata.uid}`);
    expect(told()).toEqual(['create old']);
    updates.push({ op: 'ADD', source: 'file', pods: [after] });
    await clock.advance(1000);
    expect(told()).toEqual(['create old', 'create new', 'kill old']);
    controller.abort();
  });

  test("P6: a slow list of the runtime's pods does not block the sync loop, and only one list is requested at a time", async () => {
    const answers: (() => void)[] = [];
    const { kubelet, clock, updates, plegEvents, workers, controller } = setUp({
      runtime: {
        ...healthyRuntime,
        getPods: () => new Promise((resolve) => answers.push(() => resolve([makeRuntimePod('orphan')]))),
      },
    });
    void kubelet.run(controller.signal);
    await clock.advance(2000);
    expect(answers).toHaveLength(1);
    updates.push(add('a'));
    await clock.advance(0);
    plegEvents.push({ podUid: 'uid-a', type: 'ContainerDied', containerId: 'c1' });
    await clock.advance(0);
    updates.push({ op: 'REMOVE', source: 'file', pods: [makePod('a')] });
    await clock.advance(30_000);
    expect(workers.updates.map(({ updateType }) => updateType)).toEqual(['create', 'sync', 'kill']);
    expect(answers).toHaveLength(1);
    expect(workers.syncKnownPodsCalls).toBe(0);
    answers[0]?.();
    await clock.advance(0);
    expect(workers.syncKnownPodsCalls).toBe(1);
    expect(workers.updates.at(-1)?.runningPod?.uid).toBe('orphan');
    // The events that arrived while the runtime's pods were listed make another pass due.
    await clock.advance(2000);
    expect(answers).toHaveLength(2);
    controller.abort();
  });

  test('P7: if the list of the runtime’s pods fails, housekeeping is retried, and forgets no pod worker until the list succeeds', async () => {
    let asked = 0;
    const { kubelet, clock, workers, controller } = setUp({
      runtime: {
        ...healthyRuntime,
        getPods: async () => {
          if (++asked < 3) throw new Error('the runtime is away');
          return [];
        },
      },
    });
    void kubelet.run(controller.signal);
    await clock.advance(5000);
    expect([asked, workers.syncKnownPodsCalls]).toEqual([2, 0]);
    await clock.advance(10_000);
    expect([asked, workers.syncKnownPodsCalls]).toEqual([3, 1]);
    controller.abort();
  });

  test('K5: the sync loop is unhealthy if it was not entered for five minutes', async () => {
    const { kubelet, clock, state, controller } = setUp();
    void kubelet.run(controller.signal);
    await clock.advance(5000);
    state.plegFault = 'asleep';
    await clock.advance(299_000);
    expect(kubelet.health().syncloop).toBeUndefined();
    await clock.advance(10_000);
    expect(kubelet.health().syncloop).toMatch(/^sync Loop took longer than expected/);
    controller.abort();
  });

  test('K5: while the runtime is down, probe results show that the sync loop works', async () => {
    const probes = new PlainProbes();
    const { kubelet, clock, state, controller } = setUp({ probes });
    void kubelet.run(controller.signal);
    await clock.advance(2000);
    state.readiness = new Error('down');
    for (let turn = 0; turn < 80; turn++) {
      await clock.advance(10_000);
      const result = turn % 2 === 1 ? 'success' : 'failure';
      probes.updates.push({ podUid: 'u', containerId: 'c', kind: 'readiness', result });
    }
    await clock.settle();
    expect(kubelet.health().syncloop).toBeUndefined();
    controller.abort();
  });

  test('K5: the sync loop is unhealthy if a configuration update hangs, although probe results arrive', async () => {
    const probes = new PlainProbes();
    const podManager = new PlainPodManager();
    const clock = new FakeClock();
    let spentMs = 0;
    const stuck = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic() + spentMs,
      // The next turn of the event loop never comes for the rest of the list.
      setTimer: (delayMs: number, callback: () => void) =>
        clock.setTimer(delayMs === 0 && spentMs > 0 ? 1e9 : delayMs, callback),
    };
    podManager.addPod = (pod) => {
      podManager.updatePod(pod);
      spentMs += 10;
    };
    const { kubelet, updates, controller } = setUp({ clock: stuck, probes, podManager });
    void kubelet.run(controller.signal);
    await clock.advance(2000);
    updates.push({ op: 'ADD', source: 'api', pods: Array.from({ length: 20 }, (_, index) => makePod(`${index}`)) });
    for (let turn = 0; turn < 40; turn++) {
      await clock.advance(10_000);
      probes.updates.push({ podUid: 'u', containerId: 'c', kind: 'readiness', result: 'success' });
    }
    await clock.settle();
    expect(kubelet.health().syncloop).toMatch(/^sync Loop took longer than expected/);
    controller.abort();
  });

  test('K5: the sync loop is unhealthy from a minute of failures of one handler until that handler succeeds', async () => {
    const podManager = new PlainPodManager();
    const { kubelet, clock, controller } = setUp({ podManager });
    const { getPods } = podManager;
    podManager.getPods = () => {
      throw new TypeError('no spec');
    };
    void kubelet.run(controller.signal);
    await clock.advance(55_000);
    expect(kubelet.health().syncloop).toBeUndefined();
    await clock.advance(10_000);
    expect(kubelet.health().syncloop).toMatch(
      /^sync loop handler sync has failed \d+ times in a row for 6\d s: no spec$/,
    );
    podManager.getPods = getPods;
    await clock.advance(10_000);
    expect(kubelet.health().syncloop).toBeUndefined();
    controller.abort();
  });

  test.each([
    ['a service', 'services'],
    ['a service that depends on the runtime', 'runtimeDependentServices'],
  ] as const)('the kubelet stops if %s fails, with an error that names the service', async (_name, place) => {
    let others = 0;
    const other = {
      name: 'other',
      start: (signal: AbortSignal) =>
        new Promise<void>((resolve) => {
          others += 1;
          signal.addEventListener('abort', () => {
            others -= 1;
            resolve();
          });
        }),
    };
    const faulty = { name: 'pod-source', start: () => Promise.reject(new Error('EACCES')) };
    const { kubelet, clock, controller } = setUp({
      services: [other],
      runtimeDependentServices: [other],
      [place]: [other, faulty],
    });
    const run = expect(kubelet.run(controller.signal)).rejects.toThrow('pod-source ended: EACCES');
    await clock.advance(1000);
    await run;
    expect(others).toBe(0);
    expect(clock.pendingTimers).toBe(0);
    expect(controller.signal.aborted).toBe(false);
  });
});

describe('operations that the embedding program calls', () => {
  test.each<[Pick<ProbeUpdate, 'kind' | 'result'>, string[], string[]]>([
    [{ kind: 'readiness', result: 'success' }, ['uid-a c1 ready true'], ['create', 'sync']],
    [{ kind: 'readiness', result: 'failure' }, ['uid-a c1 ready false'], ['create', 'sync']],
    [{ kind: 'startup', result: 'success' }, ['uid-a c1 started true'], ['create', 'sync']],
    [{ kind: 'startup', result: 'unknown' }, ['uid-a c1 started false'], ['create', 'sync']],
    [{ kind: 'liveness', result: 'failure' }, [], ['create', 'sync']],
    [{ kind: 'liveness', result: 'success' }, [], ['create']],
  ])(
    'P7: the probe result %j immediately causes the status calls %j and the pod worker updates %j',
    async (found, told, synced) => {
      const [probes, status] = [new PlainProbes(), new PlainStatuses()];
      const { kubelet, clock, updates, workers, controller } = setUp({ probes, status });
      void kubelet.run(controller.signal);
      updates.push(add('a'));
      await clock.advance(200);
      probes.updates.push({ podUid: 'uid-a', containerId: 'c1', ...found });
      await clock.advance(0);
      expect(status.told).toEqual(told);
      expect(workers.updates.map(({ updateType }) => updateType)).toEqual(synced);
      controller.abort();
    },
  );

  test('K2: shows a probe result in the status while the runtime is down', async () => {
    const [probes, status] = [new PlainProbes(), new PlainStatuses()];
    const { kubelet, clock, updates, state, controller } = setUp({ probes, status });
    void kubelet.run(controller.signal);
    updates.push(add('a'));
    await clock.advance(200);
    state.readiness = new Error('away');
    await clock.advance(60_000);
    probes.updates.push({ podUid: 'uid-a', containerId: 'c1', kind: 'readiness', result: 'failure' });
    await clock.advance(0);
    expect(status.told).toEqual(['uid-a c1 ready false']);
    controller.abort();
  });

  test("start creates the requested server with the kubelet's view of pods, and rejects if the kubelet was made without that server", async () => {
    const served: string[] = [];
    const { kubelet, controller } = setUp({
      servers: {
        readOnly: (view) => ({
          name: 'read-only',
          start: async () => void served.push(`${view.getPods().length} pods`),
        }),
      },
    });
    await kubelet.listenAndServeReadOnly(controller.signal);
    expect(served).toEqual(['0 pods']);
    await expect(kubelet.listenAndServe(controller.signal)).rejects.toThrow('kubelet has no main server');
    await expect(kubelet.listenAndServeAdmin(controller.signal)).rejects.toThrow('no admin server');
    await expect(kubelet.listenAndServePodResources(controller.signal)).rejects.toThrow('no podResources server');
    await expect(kubelet.listenAndServeHealthz(controller.signal)).rejects.toMatchObject({
      code: 'NoServer',
      message: 'kubelet has no healthz server',
    });
  });

  test('records the event that the kubelet starts', () => {
    const { kubelet, events } = setUp();
    expect(kubelet.getConfiguration()).toEqual({ maxPods: 7 });
    kubelet.birthCry();
    expect(events.lines).toEqual(['Starting: Starting kubelet.']);
  });

  test('collects dead containers immediately and then every minute, and records an event on failure', async () => {
    let collected = 0;
    const { kubelet, clock, events, controller } = setUp({
      containerGc: {
        garbageCollect: () => (++collected === 1 ? Promise.reject(new Error('disk')) : Promise.resolve()),
        deleteContainersInPod: () => {},
      },
    });
    const collecting = kubelet.startGarbageCollection(controller.signal);
    await clock.advance(59_999);
    expect(collected).toBe(1);
    await clock.advance(90_000);
    expect(collected).toBe(3);
    expect(events.lines).toEqual(['ContainerGCFailed: disk']);
    controller.abort();
    await collecting;
  });

  test('collects unused images when all sources have reported, and after 5 minutes at the latest', async () => {
    let collected = 0;
    const { kubelet, clock, state, controller } = setUp({
      imageGc: {
        async garbageCollect() {
          collected += 1;
        },
      },
    });
    state.sourcesReady = false;
    const collecting = kubelet.startGarbageCollection(controller.signal);
    await clock.advance(299_999);
    expect(collected).toBe(0);
    await clock.advance(1);
    expect(collected).toBe(1);
    const next = kubelet.startGarbageCollection(controller.signal);
    await clock.advance(1000);
    state.sourcesReady = true;
    await clock.advance(1000);
    expect(collected).toBe(2);
    controller.abort();
    await Promise.all([collecting, next]);
  });

  test('collects unused images every 5 minutes, logs the first failure, and records an event for the second', async () => {
    const outcomes = [true, false, true, false, false];
    let collected = 0;
    const { kubelet, clock, events, controller } = setUp({
      imageGc: {
        async garbageCollect() {
          if (outcomes[collected++] === false) throw new Error('disk');
        },
      },
    });
    const collecting = kubelet.startGarbageCollection(controller.signal);
    await clock.advance(299_999);
    expect(collected).toBe(1);
    await clock.advance(3 * 300_000);
    expect(collected).toBe(4);
    expect(events.lines).toEqual([]);
    await clock.advance(300_000);
    expect(events.lines).toEqual(['ImageGCFailed: disk']);
    controller.abort();
    await collecting;
  });
});

test('explain returns what a pod waits for', async () => {
  const { kubelet, clock, updates, workers, controller } = setUp();
  void kubelet.run(controller.signal);
  updates.push(add('a'));
  await clock.advance(200);
  expect(kubelet.explain('default', 'nobody')).toBeUndefined();
  expect(kubelet.explain('default', 'a')).toMatchObject({
    pod: { namespace: 'default', name: 'a', uid: 'uid-a' },
    waitingFor: [],
    worker: { activity: { kind: 'idle' } },
  });
  workers.view = { activity: { kind: 'waitingForFullName', holderUid: 'old' } };
  expect(kubelet.explain('default', 'a')?.waitingFor).toEqual([
    { what: 'name a_default: pod old holds the name, or still runs' },
  ]);
  workers.view = { activity: { kind: 'waitingForFullName', holderUid: undefined } };
  expect(kubelet.explain('default', 'a')?.waitingFor).toEqual([
    { what: 'name a_default: the running pods are not known yet' },
  ]);
  controller.abort();
});

test.each([true, false])(
  'getRunningPod returns a pod with anything that runs (runtime has getPod: %s)',
  async (hasGetPod) => {
    const pods = [makeRuntimePod('dead', 'notReady'), makeRuntimePod('live')];
    let lists = 0;
    const { kubelet } = setUp({
      runtime: {
        ...healthyRuntime,
        getPods: async () => {
          lists++;
          return pods;
        },
        ...(hasGetPod && { getPod: async (uid: string) => pods.find((pod) => pod.uid === uid) }),
      },
    });
    expect(await kubelet.getRunningPod('live')).toBe(pods[1]);
    expect(await kubelet.getRunningPod('dead')).toBeUndefined();
    expect(await kubelet.getRunningPod('unknown')).toBeUndefined();
    expect(lists).toBe(hasGetPod ? 0 : 3);
  },
);
