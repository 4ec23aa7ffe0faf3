import { FakeClock } from '@node-agent/async/testing';
import type { PodSyncResult } from '@node-agent/contracts';
import type { Pod, PodStatus, RuntimeContainerStatus, RuntimePod, RuntimePodStatus } from '@node-agent/pod-spec';
import { noMetrics, silentLogger } from '@node-agent/telemetry';
import { describe, expect, test } from 'vitest';
import { noAllocation } from '../src/admit/allocation.ts';
import { noJournal } from '../src/explain/pod-journal.ts';
import { RuntimeState } from '../src/node/runtime-state.ts';
import { KubeletPodSyncer } from '../src/pods/pod-syncer.ts';
import { withSandboxReady } from '../src/pods/sandbox-ready.ts';
import type { GeneratePodStatus } from '../src/ports.ts';
import { PodCgroups } from '../src/sync/pod-cgroups.ts';
import {
  container,
  emptyStatus,
  makePod,
  makeRuntimePod,
  PlainCgroups,
  PlainProbes,
  PlainStatuses,
  recordEvents,
  unreadCache,
} from './fakes.ts';

/**
 * Generates phase Running while a container runs, otherwise Succeeded. A failure decided by the kubelet takes
 * precedence.
 */
const generate: GeneratePodStatus = (_pod, runtimeStatus, { failure, podIsTerminal, oldStatus }) => {
  if (failure) return { phase: 'Failed', ...failure };
  if (oldStatus?.phase === 'Failed') return oldStatus;
  const running = runtimeStatus.containers.some(({ state }) => state === 'running');
  return { phase: podIsTerminal ? 'Succeeded' : running ? 'Running' : 'Pending' };
};

function setUp({ withCgroups = false } = {}) {
  const calls: string[] = [];
  const clock = new FakeClock();
  const status = new PlainStatuses();
  const events = recordEvents();
  const runtimeState = new RuntimeState(clock, 30_000);
  const ok = { ok: true, reason: '', message: '' };
  runtimeState.update({ runtimeReady: ok, networkReady: ok });
  const behaviour = {
    sync: async (): Promise<PodSyncResult> => ({ results: [] }),
    kill: async (): Promise<void> => {},
    after: (pod: Pod): RuntimePodStatus => emptyStatus(pod),
    mount: async (_of: Pod, _signal: AbortSignal): Promise<void> => {},
    onSync: (_given: RuntimePodStatus): void => {},
    volumesLeft: false,
    shown: undefined as Pod | undefined,
    cached: undefined as RuntimePodStatus | undefined,
    read: async (): Promise<void> => {},
    askedAfterMs: [] as number[],
    synced: [] as string[],
    kills: [] as { pod: Pod | undefined; running: RuntimePod; grace: number | undefined }[],
  };
  const pod = makePod('a');
  const probes = new PlainProbes();
  const cgroups = new PlainCgroups(calls);
  const parts: Omit<ConstructorParameters<typeof KubeletPodSyncer>[0], 'podCgroups'> = {
    allocation: noAllocation,
    podManager: { getPodByUid: () => behaviour.shown },
    journal: noJournal,
    podCache: {
      ...unreadCache,
      get: () => (behaviour.cached === undefined ? undefined : { status: behaviour.cached }),
      getNewerThan: async (_uid, minTimeMs) => {
        behaviour.askedAfterMs.push(minTimeMs);
        await behaviour.read();
        return behaviour.after(pod);
      },
    },
    syncAgain: () => {},
    onRejected: (reason) => void calls.push(`rejected ${reason}`),
    probes,
    clock,
    logger: silentLogger,
    metrics: noMetrics,
    recorder: events.recorder,
    runtimeState,
    status,
    generatePodStatus: generate,
    pleg: {
      start: async () => {},
      events: (async function* () {})(),
      hint: (uid) => void calls.push(`hint ${uid}`),
      healthy: () => undefined,
    },
    volumes: {
      start: async () => {},
      makePodDataDirs: async () => void calls.push('dirs'),
      waitForAttachAndMount: async (of, signal) => {
        calls.push('mount');
        await behaviour.mount(of, signal);
      },
      waitForUnmount: async () => void calls.push('unmount'),
      podVolumesExist: async () => behaviour.volumesLeft,
      cleanupOrphanedPodDirs: async () => {},
    },
    runtime: {
      getPods: async () => [],
      getPodStatus: async () => behaviour.after(pod),
      syncPod: async (of, given) => {
        calls.push('sync');
        behaviour.onSync(given);
        behaviour.synced.push(of.metadata.name);
        return await behaviour.sync();
      },
      killPod: async (killed, running, grace) => {
        calls.push('kill');
        behaviour.kills.push({ pod: killed, running, grace });
        await behaviour.kill();
      },
      status: async () => ({ runtimeReady: ok, networkReady: ok }),
      containerEnded: () => {},
      forget: () => {},
    },
  };
  const podCgroups = new PodCgroups({ ...parts, ...(withCgroups && { cgroups }), activePods: () => [pod] });
  const syncer = new KubeletPodSyncer({ ...parts, podCgroups });
  return { parts, podCgroups, syncer, pod, cgroups, probes, status, events, calls, behaviour, runtimeState, clock, ok };
}

const signal = new AbortController().signal;

describe('syncPod', () => {
  test("a pod sync uses the API's current status with the spec that the pod worker passed", async () => {
    const { parts, podCgroups, pod, behaviour } = setUp();
    const given: Pod[] = [];
    const generatePodStatus: GeneratePodStatus = (of) => {
      given.push(of);
      return { phase: 'Running' };
    };
    const syncer = new KubeletPodSyncer({ ...parts, podCgroups, generatePodStatus });
    await syncer.syncPod('create', pod, undefined, emptyStatus(pod), signal);
    behaviour.shown = { ...pod, spec: { containers: [] }, status: { phase: 'Running' } };
    await syncer.syncPod('sync', pod, undefined, emptyStatus(pod), signal);
    expect(given.map(({ status }) => status?.phase)).toEqual([undefined, 'Running']);
    expect(given.map(({ spec }) => spec)).toEqual([pod.spec, pod.spec]);
  });

  test("a pod sync prepares directories, then volumes, then syncs the runtime, and refreshes the pod's runtime status", async () => {
    const { syncer, pod, calls, behaviour } = setUp();
    behaviour.sync = async () => ({ results: [{ action: 'StartContainer', target: 'main' }] });
    expect(await syncer.syncPod('create', pod, undefined, emptyStatus(pod), signal)).toEqual({
      isTerminal: false,
      idle: false,
      isRestart: false,
    });
    expect(calls).toEqual(['dirs', 'mount', 'sync', 'hint uid-a']);
  });

  test('a pod sync that did nothing returns idle and requests no refresh of the runtime status', async () => {
    const { syncer, pod, calls } = setUp();
    expect(await syncer.syncPod('sync', pod, undefined, emptyStatus(pod), signal)).toMatchObject({ idle: true });
    expect(calls).toEqual(['dirs', 'mount', 'sync']);
  });

  test('P7: a pod sync requests a refresh if the runtime status was too old', async () => {
    const { syncer, pod, calls, behaviour } = setUp();
    behaviour.sync = async () => ({ results: [], isOutdated: true });
    expect(await syncer.syncPod('sync', pod, undefined, emptyStatus(pod), signal)).toMatchObject({ idle: false });
    expect(calls).toEqual(['dirs', 'mount', 'sync', 'hint uid-a']);
  });

  test('C7: only a few pods are prepared at once, running ones first; a volume that hangs delays no other pod', async () => {
    const { syncer, behaviour, clock } = setUp();
    behaviour.mount = async (of) => {
      const hangs = of.metadata.name.startsWith('hung');
      await new Promise<void>((resolve) => clock.setTimer(hangs ? 120_000 : 10, resolve));
    };
    const sandbox = {
      id: 's',
      state: 'ready' as const,
      attempt: 0,
      createdAtMs: 0,
      ips: [],
      hostNetwork: false,
      runtimeHandler: '',
    };
    const sync = (name: string, runs = false): Promise<unknown> => {
      const pod = makePod(name);
      const status = emptyStatus(pod);
      return syncer.syncPod('sync', pod, undefined, runs ? { ...status, sandboxes: [sandbox] } : status, signal);
    };
    const all = ['new-0', 'new-1', 'new-2', 'new-3', 'hung-0', 'hung-1', 'hung-2', 'hung-3', 'new-4'].map((name) =>
      sync(name),
    );
    all.push(sync('old', true));
    await clock.advance(10);
    expect(behaviour.synced).toEqual(['new-0', 'new-1', 'new-2', 'new-3']);
    await clock.advance(10);
    expect(behaviour.synced.slice(4)).toEqual(['old']);
    await clock.advance(110);
    expect(behaviour.synced.slice(5)).toEqual(['new-4']);
    await clock.advance(120_000);
    await Promise.all(all);
    expect(clock.pendingTimers).toBe(0);
  });

  test('fails a pod past its activeDeadlineSeconds once, and does not sync it any more', async () => {
    const { syncer, status, events, calls, clock } = setUp();
    const pod = makePod('a', { spec: { activeDeadlineSeconds: 1 } });
    status.statuses.set('uid-a', { phase: 'Running', startTime: '2026-01-01T00:00:00Z' });
    await clock.advance(1000);
    for (const _ of [1, 2]) {
      expect(await syncer.syncPod('sync', pod, undefined, emptyStatus(pod), signal)).toEqual({ isTerminal: true });
      status.statuses.set('uid-a', {
        ...(status.getPodStatus('uid-a') as PodStatus),
        startTime: '2026-01-01T00:00:00Z',
      });
    }
    expect(events.lines).toEqual(['DeadlineExceeded: Pod was active on the node longer than the specified deadline']);
    expect(calls).toEqual([]);
  });

  test('terminates a pod whose activeDeadlineSeconds pass during a failing sync instead of backing off', async () => {
    const { syncer, status, events, behaviour } = setUp();
    const pod = makePod('a', { spec: { activeDeadlineSeconds: 1 } });
    const error = new Error('back-off 10s restarting failed container=main');
    behaviour.sync = async () => {
      // A restarted kubelet knows the pod's start time only from the first status that it generates.
      status.statuses.set('uid-a', { phase: 'Running', startTime: '1970-01-01T00:00:00Z' });
      return { results: [], error };
    };
    const runs = { ...emptyStatus(pod), containers: [container('running')] };
    expect(await syncer.syncPod('create', pod, undefined, runs, signal)).toEqual({ isTerminal: true, error });
    expect(status.getPodStatus('uid-a')).toMatchObject({ phase: 'Failed', reason: 'DeadlineExceeded' });
    expect(events.lines).toEqual(['DeadlineExceeded: Pod was active on the node longer than the specified deadline']);
  });

  test("delays a pod without host network until the node's network is ready", async () => {
    const { syncer, pod, events, runtimeState, ok, calls } = setUp();
    runtimeState.update({ runtimeReady: ok, networkReady: { ok: false, reason: 'R', message: 'm' } });
    await expect(syncer.syncPod('create', pod, undefined, emptyStatus(pod), signal)).rejects.toMatchObject({
      code: 'NetworkNotReady',
    });
    expect(events.lines[0]).toMatch(/^NetworkNotReady: network is not ready: container runtime network not ready/);
    const onHost = makePod('b', { spec: { hostNetwork: true } });
    await syncer.syncPod('create', onHost, undefined, emptyStatus(onHost), signal);
    expect(calls).toEqual(['dirs', 'mount', 'sync']);
  });

  test('a sync fails with an event if volumes cannot be mounted, and starts no container', async () => {
    const { syncer, pod, events, behaviour, calls } = setUp();
    behaviour.mount = () => Promise.reject(new Error('unmounted volumes=[data]'));
    await expect(syncer.syncPod('create', pod, undefined, emptyStatus(pod), signal)).rejects.toThrow('unmounted');
    expect(events.lines).toEqual(['FailedMount: Unable to attach or mount volumes: unmounted volumes=[data]']);
    expect(calls).not.toContain('sync');

    events.lines.length = 0;
    behaviour.mount = () => Promise.reject(Object.assign(new Error('unmounted volumes=[data]'), { isReported: true }));
    await expect(syncer.syncPod('create', pod, undefined, emptyStatus(pod), signal)).rejects.toThrow('unmounted');
    expect(events.lines).toEqual([]);
  });

  describe('pod whose volumes cannot be attached because the node is full', () => {
    const full = Object.assign(new Error('Node has reached its limit'), { code: 'AttachLimitExceeded' });

    test('fails a pod whose volumes cannot be attached because the node is full, with reason, event and metric, and starts nothing', async () => {
      const { syncer, pod, events, behaviour, calls, status } = setUp();
      behaviour.mount = () => Promise.reject(full);
      const result = await syncer.syncPod('create', pod, undefined, emptyStatus(pod), signal);
      expect(result).toEqual({ isTerminal: true });
      expect(events.lines).toEqual(['VolumeAttachmentLimitExceeded: Node has reached its limit']);
      expect(calls).toEqual(['dirs', 'mount', 'rejected VolumeAttachmentLimitExceeded']);
      expect(status.getPodStatus(pod.metadata.uid)).toMatchObject({
        ...{ phase: 'Failed', reason: 'VolumeAttachmentLimitExceeded' },
        message: 'Pod was rejected: Node has reached its limit',
      });
    });

    test('S2: does not fail a pod with running containers although its volumes cannot be attached because the node is full', async () => {
      const { syncer, pod, events, behaviour, status } = setUp();
      behaviour.mount = () => Promise.reject(full);
      const running = emptyStatus(pod, { containers: [container('running')] });
      await expect(syncer.syncPod('sync', pod, undefined, running, signal)).rejects.toBe(full);
      expect([events.lines, status.getPodStatus(pod.metadata.uid)?.phase]).toEqual([[], 'Running']);
    });
  });

  test('S7: while volumes or the network are missing, only probes of running containers are started', async () => {
    const { syncer, pod, probes, behaviour, runtimeState, ok } = setUp();
    behaviour.mount = () => Promise.reject(new Error('unmounted volumes=[data]'));
    const sync = (state: 'running' | 'exited'): Promise<unknown> =>
      syncer.syncPod('create', pod, undefined, emptyStatus(pod, { containers: [container(state)] }), signal);
    await expect(sync('exited')).rejects.toThrow('unmounted');
    expect(probes.calls).toEqual([]);
    await expect(sync('running')).rejects.toThrow('unmounted');
    expect(probes.calls).toEqual(['add uid-a']);
    runtimeState.update({ runtimeReady: ok, networkReady: { ok: false, reason: 'R', message: 'm' } });
    await expect(sync('running')).rejects.toMatchObject({ code: 'NetworkNotReady' });
    expect(probes.calls).toEqual(['add uid-a', 'add uid-a']);
  });

  describe('allocation of a pod', () => {
    const setUpAllocation = () => {
      const all = setUp({ withCgroups: true });
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const allocation = { ...noAllocation, written: () => promise, saved: () => promise };
      const syncer = new KubeletPodSyncer({ ...all.parts, podCgroups: all.podCgroups, allocation });
      return { ...all, syncer, resolve, reject };
    };
    const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

    test("a new pod's allocation is written in parallel with its cgroup and volumes, before its sandbox is created", async () => {
      const { syncer, pod, calls, resolve } = setUpAllocation();
      const sync = syncer.syncPod('create', pod, undefined, emptyStatus(pod), signal);
      await turn();
      expect(calls).toEqual(['ensure uid-a', 'qos uid-a', 'dirs', 'mount']);
      resolve();
      await sync;
      expect(calls.at(-1)).toBe('sync');
    });

    test('the sandbox of a new pod is created while its written allocation is being saved', async () => {
      const { parts, podCgroups, pod, calls } = setUp({ withCgroups: true });
      const allocation = { ...noAllocation, saved: () => new Promise<void>(() => {}) };
      const syncer = new KubeletPodSyncer({ ...parts, podCgroups, allocation });
      await syncer.syncPod('create', pod, undefined, emptyStatus(pod), signal);
      expect(calls.at(-1)).toBe('sync');
    });

    test('the allocation of a running pod is saved before its containers are changed', async () => {
      const sandbox = { id: 's1', state: 'notReady', attempt: 0, createdAtMs: 1, ips: [] } as const;
      const sandboxes = [{ ...sandbox, hostNetwork: false, runtimeHandler: '' }];
      for (const there of [{ containers: [container('exited')] }, { sandboxes }]) {
        const { parts, podCgroups, pod, calls } = setUp({ withCgroups: true });
        const { promise, resolve } = Promise.withResolvers<void>();
        const allocation = { ...noAllocation, saved: () => promise };
        const syncer = new KubeletPodSyncer({ ...parts, podCgroups, allocation });
        const sync = syncer.syncPod('sync', pod, undefined, emptyStatus(pod, there), signal);
        await turn();
        expect(calls).toEqual([]);
        resolve();
        await sync;
        expect(calls.at(-1)).toBe('sync');
      }
    });

    test('a pod whose allocation cannot be saved gets an event and is not started', async () => {
      const { syncer, pod, events, calls, behaviour, reject } = setUpAllocation();
      behaviour.mount = (_of, making) =>
        new Promise((_, end) => making.addEventListener('abort', () => end(making.reason)));
      const sync = syncer.syncPod('create', pod, undefined, emptyStatus(pod), signal);
      await turn();
      reject(new Error('ENOSPC: no space left on device, write'));
      await expect(sync).rejects.toThrow('ENOSPC');
      expect(events.lines).toEqual([
        "FailedSync: error saving the pod's allocated resources: ENOSPC: no space left on device, write",
      ]);
      expect(calls).not.toContain('sync');
    });

    test("saving a pod's allocation is abandoned if the sync is aborted", async () => {
      const { syncer, pod, calls, resolve } = setUpAllocation();
      const stop = new AbortController();
      const sync = syncer.syncPod('create', pod, undefined, emptyStatus(pod), stop.signal);
      await turn();
      stop.abort(new Error('the pod is to end'));
      resolve();
      await expect(sync).rejects.toThrow('the pod is to end');
      expect(calls).not.toContain('sync');
    });
  });

  test('a sync with a runtime failure writes the failure to the pod status and then fails', async () => {
    const { syncer, pod, behaviour, status } = setUp();
    const error = new Error('back-off 10s');
    behaviour.sync = async () => ({ results: [], error });
    await expect(syncer.syncPod('sync', pod, undefined, emptyStatus(pod), signal)).rejects.toBe(error);
    expect(status.history).toHaveLength(2);
  });

  test('during a long sync, the pod status shows that the sandbox is ready, even if an image cannot be pulled', async () => {
    const { syncer, pod, behaviour, status, clock } = setUp();
    const ready = { type: 'PodReadyToStartContainers', status: 'True' };
    behaviour.sync = async () => {
      syncer.sandboxReady(pod);
      await clock.advance(499);
      expect(status.getPodStatus('uid-a')?.conditions).toBeUndefined();
      await clock.advance(1);
      expect(status.getPodStatus('uid-a')).toEqual({ phase: 'Pending', conditions: [ready] });
      return { results: [], error: new Error('ErrImagePull') };
    };
    await expect(syncer.syncPod('create', pod, undefined, emptyStatus(pod), signal)).rejects.toThrow('ErrImagePull');
    expect(status.getPodStatus('uid-a')?.conditions).toEqual([ready]);

    // The next sync generates a new status from the runtime, so the condition is not kept if the sandbox no longer
    // exists.
    behaviour.sync = async () => ({ results: [], error: new Error('no network') });
    await expect(syncer.syncPod('sync', pod, undefined, emptyStatus(pod), signal)).rejects.toThrow('no network');
    expect(status.getPodStatus('uid-a')?.conditions).toBeUndefined();
  });

  test('the pod status is not updated for a ready sandbox if the containers start soon after', async () => {
    const { syncer, pod, behaviour, status, clock } = setUp();
    behaviour.sync = async () => {
      syncer.sandboxReady(pod);
      await clock.advance(499);
      return { results: [] };
    };
    await syncer.syncPod('create', pod, undefined, emptyStatus(pod), signal);
    await clock.advance(10_000);
    expect(status.history).toEqual([{ phase: 'Pending' }]);
  });

  test('a ready sandbox changes only the condition PodReadyToStartContainers, in its place', () => {
    const pod = makePod('a', { metadata: { generation: 3 } });
    const others = [{ type: 'PodScheduled', status: 'True' }];
    const before = {
      phase: 'Pending',
      conditions: [{ type: 'PodReadyToStartContainers', status: 'False' }, ...others],
    };
    expect(withSandboxReady(pod, before)).toEqual({
      phase: 'Pending',
      conditions: [{ type: 'PodReadyToStartContainers', status: 'True', observedGeneration: 3 }, ...others],
    });
  });
});

describe('container whose postStart hook has not completed', () => {
  test('C5: a postStart hook runs before the pod waits for volumes, and afterwards the status shows the container as running', async () => {
    const { parts, podCgroups, pod, behaviour, calls, status } = setUp();
    const unfinished = { ...container('running'), startUnfinished: true } as const;
    behaviour.after = () => emptyStatus(pod, { containers: [container('running')] });
    const runtime = { ...parts.runtime, finishStarts: async () => void calls.push('finish') };
    const generatePodStatus: GeneratePodStatus = (_pod, { containers }) => ({
      phase: containers.some(({ startUnfinished }) => startUnfinished) ? 'Pending' : 'Running',
    });
    const syncer = new KubeletPodSyncer({ ...parts, podCgroups, runtime, generatePodStatus });
    await syncer.syncPod('sync', pod, undefined, emptyStatus(pod, { containers: [unfinished] }), signal);
    expect(calls.filter((call) => ['finish', 'mount', 'sync'].includes(call))).toEqual(['finish', 'mount', 'sync']);
    expect(status.history.map(({ phase }) => phase)).toEqual(['Pending', 'Running']);
  });

  test('all running containers of a pod are probed while a postStart hook runs', async () => {
    const { parts, podCgroups, pod, behaviour, probes, clock } = setUp();
    const unfinished = { ...container('running'), startUnfinished: true } as const;
    const { promise: hook, resolve: endHook } = Promise.withResolvers<void>();
    behaviour.after = () => emptyStatus(pod, { containers: [container('running')] });
    const syncer = new KubeletPodSyncer({
      ...parts,
      podCgroups,
      runtime: { ...parts.runtime, finishStarts: () => hook },
    });
    const sync = syncer.syncPod('sync', pod, undefined, emptyStatus(pod, { containers: [unfinished] }), signal);
    await clock.settle();
    expect(probes.calls).toEqual(['add uid-a']);
    endHook();
    await sync;
  });

  test('S2: if a pod was terminated while a postStart hook ran, no further container is started', async () => {
    const { parts, podCgroups, pod, behaviour, calls } = setUp();
    const unfinished = { ...container('running'), startUnfinished: true } as const;
    behaviour.after = () => emptyStatus(pod, { containers: [container('exited')] });
    const runtime = { ...parts.runtime, finishStarts: async () => void calls.push('finish') };
    const generatePodStatus: GeneratePodStatus = (_pod, { containers }) => ({
      phase: containers.some(({ state }) => state === 'running') ? 'Running' : 'Failed',
    });
    const syncer = new KubeletPodSyncer({ ...parts, podCgroups, runtime, generatePodStatus });
    const given = emptyStatus(pod, { containers: [unfinished] });
    expect(await syncer.syncPod('sync', pod, undefined, given, signal)).toEqual({ isTerminal: true });
    expect(calls).not.toContain('sync');
  });
});

describe('syncTerminatingPod', () => {
  test('S2: the pod status becomes terminal only after a new read of the runtime shows that no container runs', async () => {
    const { syncer, pod, status, behaviour } = setUp();
    const before = emptyStatus(pod, { containers: [container('running')], ips: ['10.0.0.1'] });
    behaviour.after = () => emptyStatus(pod, { containers: [container('exited')] });
    await syncer.syncTerminatingPod(pod, before, 7, undefined, signal);
    expect(status.history.map(({ phase }) => phase)).toEqual(['Running', 'Succeeded']);
    expect(behaviour.kills).toHaveLength(1);
    expect(behaviour.kills[0]).toMatchObject({ pod, grace: 7, running: { containers: [{ id: 'c1' }] } });
  });

  test('the clean-up step may use any runtime status that was read after all containers had stopped', async () => {
    const { syncer, pod, behaviour, clock } = setUp();
    behaviour.kill = () => clock.advance(250);
    behaviour.read = () => clock.advance(40);
    const startMs = clock.monotonic();
    const { stoppedAtMs } = await syncer.syncTerminatingPod(pod, emptyStatus(pod), 1, undefined, signal);
    expect(stoppedAtMs).toBe(startMs + 250);
    expect(behaviour.askedAfterMs).toEqual([stoppedAtMs]);
  });

  test('S2: ResourceClaims are unprepared after the containers have stopped and before the terminal status is set', async () => {
    const { parts, podCgroups, pod, status, behaviour, calls } = setUp();
    const outcomes = [new Error('busy'), undefined];
    const claims = {
      unprepare: async (): Promise<void> => {
        calls.push(`unprepare while ${status.history.at(-1)?.phase}`);
        const failure = outcomes.shift();
        if (failure !== undefined) throw failure;
      },
    };
    const syncer = new KubeletPodSyncer({ ...parts, podCgroups, claims });
    behaviour.after = () => emptyStatus(pod, { containers: [container('exited')] });
    const before = emptyStatus(pod, { containers: [container('running')] });
    const end = () => syncer.syncTerminatingPod(pod, before, 1, undefined, signal);
    await expect(end()).rejects.toThrow('busy');
    expect(status.history.at(-1)?.phase).toBe('Running');
    await end();
    expect(calls.filter((call) => /kill|unprepare/.test(call))).toEqual([
      'kill',
      'unprepare while Running',
      'kill',
      'unprepare while Running',
    ]);
    expect(status.history.at(-1)?.phase).toBe('Succeeded');
  });

  test('S2: a kill fails and the pod status stays unchanged if a container still runs after the kill', async () => {
    const { syncer, pod, status, behaviour } = setUp();
    const running = emptyStatus(pod, { containers: [container('running')] });
    behaviour.after = () => running;
    await expect(syncer.syncTerminatingPod(pod, running, undefined, undefined, signal)).rejects.toThrow(
      'detected running containers after a successful KillPod, CRI violation: c1',
    );
    expect(status.history.map(({ phase }) => phase)).toEqual(['Running']);
  });

  test('S7: the pod status shows a terminated container while another container still stops', async () => {
    const { parts, podCgroups, pod, status, behaviour } = setUp();
    const generatePodStatus: GeneratePodStatus = (_pod, { containers }, { podIsTerminal }) => ({
      phase: podIsTerminal ? 'Succeeded' : 'Running',
      message: containers.map(({ state }) => state).join(),
    });
    const syncer = new KubeletPodSyncer({ ...parts, podCgroups, generatePodStatus });
    const both = (first: RuntimeContainerStatus['state'], second: RuntimeContainerStatus['state']) =>
      emptyStatus(pod, { containers: [container(first), container(second, 'c2')] });
    const see = (seen: RuntimePodStatus): void => {
      behaviour.cached = seen;
      syncer.containersChanged(pod.metadata.uid);
    };
    behaviour.kill = async () => {
      see(both('exited', 'running'));
      // The final state is shown once a new read shows that nothing runs (S2).
      see(both('exited', 'exited'));
    };
    behaviour.after = () => both('exited', 'exited');
    await syncer.syncTerminatingPod(pod, both('running', 'running'), 30, undefined, signal);
    see(both('exited', 'running'));
    expect(status.history).toEqual([
      { phase: 'Running', message: 'running,running' },
      { phase: 'Running', message: 'exited,running' },
      { phase: 'Succeeded', message: 'exited,exited' },
    ]);
  });

  test('the pod status shows the reason of an eviction before the pod is killed', async () => {
    const { syncer, pod, status } = setUp();
    const evicted = (given: PodStatus): PodStatus => ({ ...given, phase: 'Failed', reason: 'Evicted' });
    await syncer.syncTerminatingPod(pod, emptyStatus(pod), 1, evicted, signal);
    expect(status.history[0]).toEqual({ phase: 'Failed', reason: 'Evicted' });
  });

  test('P2: the pod status shows the reason of an eviction after the kill if the update before was not accepted', async () => {
    const { syncer, pod, status } = setUp();
    const ended = (given: PodStatus): PodStatus => ({ ...given, phase: 'Failed', reason: 'Terminated' });
    const taken = status.setPodStatus.bind(status);
    let before: PodStatus | undefined;
    status.setPodStatus = (of, given) => {
      if (before === undefined) before = given;
      else taken(of, given);
    };
    await syncer.syncTerminatingPod(pod, emptyStatus(pod), 1, ended, signal);
    expect(before).toEqual({ phase: 'Failed', reason: 'Terminated' });
    expect(status.history).toEqual([{ phase: 'Failed', reason: 'Terminated' }]);
  });

  test('a failed kill records an event, but a kill that a faster kill replaced does not', async () => {
    const { syncer, pod, behaviour, events } = setUp();
    behaviour.kill = () => Promise.reject(new Error('shim is gone'));
    await expect(syncer.syncTerminatingPod(pod, emptyStatus(pod), 1, undefined, signal)).rejects.toThrow(
      'shim is gone',
    );
    expect(events.lines).toEqual(['FailedKillPod: error killing pod: shim is gone']);
    const aborted = AbortSignal.abort(new Error('shorter grace period'));
    await expect(syncer.syncTerminatingPod(pod, emptyStatus(pod), 1, undefined, aborted)).rejects.toThrow();
    expect(events.lines).toHaveLength(1);
  });
});

test('P6: a pod that only the runtime knows is killed with a grace period of one second, without a spec', async () => {
  const { syncer, behaviour } = setUp();
  await syncer.syncTerminatingRuntimePod(makeRuntimePod('orphan'), signal);
  expect(behaviour.kills).toMatchObject([{ pod: undefined, grace: 1, running: { uid: 'orphan' } }]);
});

describe('syncTerminatedPod', () => {
  test('S5: a pod counts as finished only when its volumes are gone', async () => {
    const { syncer, pod, status, behaviour } = setUp();
    behaviour.volumesLeft = true;
    await expect(syncer.syncTerminatedPod(pod, emptyStatus(pod), signal)).rejects.toThrow('not been cleaned up');
    expect(status.terminated).toEqual([]);
    behaviour.volumesLeft = false;
    await syncer.syncTerminatedPod(pod, emptyStatus(pod), signal);
    expect(status.terminated).toEqual(['uid-a']);
  });
});

describe('probes of a pod', () => {
  test("probes start with a pod's first sync, and are not added to a terminated pod", async () => {
    const { syncer, pod, probes } = setUp();
    await syncer.syncPod('create', pod, undefined, emptyStatus(pod), signal);
    expect(probes.calls).toEqual(['add uid-a']);
    const failed = makePod('b', { status: { phase: 'Failed' } });
    await syncer.syncPod('sync', failed, undefined, emptyStatus(failed), signal);
    expect(probes.calls).toEqual(['add uid-a']);
  });

  test('liveness probes stop when a pod starts to terminate, and all probes stop when it has terminated', async () => {
    const { syncer, pod, probes, behaviour } = setUp();
    let during: string[] = [];
    behaviour.kill = async () => {
      during = [...probes.calls];
    };
    await syncer.syncTerminatingPod(pod, emptyStatus(pod), undefined, undefined, signal);
    expect(during).toEqual(['stop uid-a']);
    expect(probes.calls).toEqual(['stop uid-a', 'remove uid-a']);
  });

  test('K1: after a kubelet restart, readiness probes run while a pod terminates', async () => {
    const { syncer, pod, probes, behaviour } = setUp();
    const before = emptyStatus(pod, { containers: [container('running')] });
    behaviour.after = () => emptyStatus(pod, { containers: [container('exited')] });
    await syncer.syncTerminatingPod(pod, before, undefined, undefined, signal);
    expect(probes.calls).toEqual(['add uid-a', 'stop uid-a', 'remove uid-a']);
  });

  test('readiness probes continue after a failed kill', async () => {
    const { syncer, pod, probes, behaviour } = setUp();
    behaviour.kill = () => Promise.reject(new Error('the runtime is away'));
    await expect(syncer.syncTerminatingPod(pod, emptyStatus(pod), undefined, undefined, signal)).rejects.toThrow();
    expect(probes.calls).toEqual(['stop uid-a']);
  });
});

describe('cgroup of a pod', () => {
  const running = (pod: Pod): RuntimePodStatus => ({ ...emptyStatus(pod), containers: [container('running')] });

  test("a pod's cgroup is created before its volumes and containers, with one update of the QoS cgroups", async () => {
    const { syncer, pod, calls } = setUp({ withCgroups: true });
    await syncer.syncPod('create', pod, undefined, emptyStatus(pod), signal);
    expect(calls).toEqual(['ensure uid-a', 'qos uid-a', 'dirs', 'mount', 'sync']);
    await syncer.syncPod('sync', pod, undefined, running(pod), signal);
    expect(calls.slice(5)).toEqual(['ensure uid-a', 'dirs', 'mount', 'sync']);
  });

  test('a pod whose cgroup cannot be created does not start, and its status has the reason', async () => {
    const { syncer, pod, cgroups, calls, events } = setUp({ withCgroups: true });
    cgroups.failure = new Error('no pids controller');
    await expect(syncer.syncPod('create', pod, undefined, emptyStatus(pod), signal)).rejects.toMatchObject({
      code: 'CgroupFailed',
      message: 'failed to ensure that the pod: uid-a cgroups exist and are correctly applied: no pids controller',
    });
    expect(calls).toEqual(['ensure uid-a']);
    expect(events.lines).toEqual([
      'FailedCreatePodContainer: unable to ensure pod container exists: no pids controller',
    ]);
  });

  test("containers that run outside their pod's cgroup are stopped before the cgroup is created, and restart in it", async () => {
    const { syncer, pod, calls, behaviour } = setUp({ withCgroups: true });
    const seen: RuntimePodStatus[] = [];
    behaviour.onSync = (status) => void seen.push(status);
    await syncer.syncPod('sync', pod, undefined, running(pod), signal);
    expect(calls).toEqual(['kill', 'ensure uid-a', 'qos uid-a', 'dirs', 'mount', 'sync']);
    expect(behaviour.kills).toMatchObject([{ grace: undefined }]);
    expect(seen).toEqual([emptyStatus(pod)]);
  });

  test('a pod with restartPolicy Never gets no cgroup after its containers, which ran without a pod cgroup, were stopped', async () => {
    const { syncer, pod, calls } = setUp({ withCgroups: true });
    const once = { ...pod, spec: { ...pod.spec, restartPolicy: 'Never' as const } };
    await syncer.syncPod('sync', once, undefined, running(pod), signal);
    expect(calls).toEqual(['kill', 'dirs', 'mount', 'sync']);
  });

  test("N5, S5: a pod's cgroup is removed after its volumes and before the pod counts as finished", async () => {
    const { syncer, pod, cgroups, calls, status } = setUp({ withCgroups: true });
    cgroups.groups.add('uid-a');
    cgroups.failure = new Error('a process is left');
    await expect(syncer.syncTerminatedPod(pod, emptyStatus(pod), signal)).rejects.toThrow('a process is left');
    expect(status.terminated).toEqual([]);
    cgroups.failure = undefined;
    await syncer.syncTerminatedPod(pod, emptyStatus(pod), signal);
    expect(calls).toEqual(['unmount', 'destroy uid-a', 'unmount', 'destroy uid-a']);
    expect(status.terminated).toEqual(['uid-a']);
  });

  test("the limits of a pod's cgroup are read for the last status without delaying the kill", async () => {
    const { syncer, pod, cgroups, status, behaviour, calls } = setUp({ withCgroups: true });
    const read = Promise.withResolvers<void>();
    Object.assign(cgroups, {
      async limits(of: Pod): Promise<void> {
        calls.push(`limits ${of.metadata.uid}`);
        await read.promise;
        calls.push('limits are known');
      },
    });
    behaviour.kill = async () => void setImmediate(read.resolve);
    const setPodStatus = status.setPodStatus.bind(status);
    status.setPodStatus = (of, shown) => {
      calls.push(`status ${shown.phase}`);
      setPodStatus(of, shown);
    };
    const shown = { ...pod, status: { phase: 'Running' as const } };
    await syncer.syncTerminatingPod(shown, emptyStatus(pod), undefined, undefined, signal);
    expect(calls).toEqual(['limits uid-a', 'status Pending', 'kill', 'limits are known', 'status Succeeded']);
    // The status of a pod that is not Running shows the allocated resources instead, so no limits are read.
    calls.length = 0;
    await syncer.syncTerminatingPod(pod, emptyStatus(pod), undefined, undefined, signal);
    expect(calls).not.toContain('limits uid-a');
  });

  test("N5: a pod's cgroup is kept while the pod has volumes", async () => {
    const { syncer, pod, behaviour, calls } = setUp({ withCgroups: true });
    behaviour.volumesLeft = true;
    await expect(syncer.syncTerminatedPod(pod, emptyStatus(pod), signal)).rejects.toMatchObject({
      code: 'VolumesLeft',
    });
    expect(calls).toEqual(['unmount']);
  });
});

describe('user namespace of a pod', () => {
  test("N5: a pod's user namespace is released after its volumes, containers and cgroup, before the pod counts as finished", async () => {
    const { parts, podCgroups, pod, calls, status } = setUp({ withCgroups: true });
    const address = { ips: [], hostNetwork: false };
    const userNamespaces = {
      release: async (uid: string) => void calls.push(`release ${uid} ${status.terminated.length}`),
      releaseOrphans: async () => {},
    };
    const syncer = new KubeletPodSyncer({ ...parts, podCgroups, userNamespaces });
    const sandboxes = makeRuntimePod('uid-a', 'notReady').sandboxes.map((one) => ({ ...one, ...address }));
    await syncer.syncTerminatedPod(pod, emptyStatus(pod, { sandboxes }), signal);
    expect(calls).toEqual(['unmount', 'destroy uid-a', 'release uid-a 0']);
    expect(status.terminated).toEqual(['uid-a']);
  });
});
