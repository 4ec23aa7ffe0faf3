import { type Clock, seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import type { PodStatus } from '@node-agent/pod-spec';
import { type EventRecorder, type LogFields, noMetrics, silentLogger } from '@node-agent/telemetry';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PodWorkers, PodWorkersError } from '../src/index.ts';
import { FreshCache, pod, podStatus, runtimePod, ScriptedSyncer, type StepScript } from './kit.ts';

let clock: FakeClock;
let cache: FreshCache;
let syncer: ScriptedSyncer;
let workers: PodWorkers;
let events: string[];
let errors: [LogFields, string][];
let stop: AbortController;
let ended: Promise<void>;

beforeEach(() => {
  clock = new FakeClock();
  cache = new FreshCache(clock);
  syncer = new ScriptedSyncer(clock);
  events = [];
  errors = [];
  const recorder: EventRecorder = {
    event: (_o, type, reason, message) => events.push(`${type} ${reason}: ${message}`),
  };
  const logger = {
    ...silentLogger,
    error: (fields: LogFields, message: string) => void errors.push([fields, message]),
  };
  const components = { syncer, podCache: cache, clock, recorder, random: seededRandom(1), logger };
  workers = new PodWorkers({ ...components, metrics: noMetrics });
  stop = new AbortController();
  ended = workers.start(stop.signal);
});

afterEach(async () => {
  stop.abort();
  await clock.advance(100_000);
  await ended;
  expect(clock.pendingTimers).toBe(0);
});

/** Runs a pod to the end of its life. */
async function finish(uid = 'uid-1'): Promise<void> {
  await clock.advance(60_000);
  expect(workers.explain(uid)?.phase).toBe('finished');
}

describe('the life of a pod', () => {
  it('P1: a pod worker runs sync, termination and clean-up in order, and keeps the pod finished', async () => {
    workers.updatePod({ updateType: 'create', pod: pod() });
    await clock.settle();
    workers.updatePod({ updateType: 'kill', pod: pod() });
    await clock.settle();
    expect(syncer.steps()).toEqual(['syncPod', 'syncTerminatingPod', 'syncTerminatedPod']);
    workers.updatePod({ updateType: 'update', pod: pod() });
    workers.wake('uid-1');
    await clock.advance(600_000);
    expect(syncer.steps()).toHaveLength(3);
    expect(workers.explain('uid-1')?.activity.kind).toBe('finished');
  });

  it('a sync that reports an error and a terminal pod is logged and not retried', async () => {
    const error = new Error('back-off');
    syncer.script = ({ step }) => (step === 'syncPod' ? { isTerminal: true, error } : {});
    workers.updatePod({ updateType: 'create', pod: pod() });
    await finish();
    expect(syncer.steps()).toEqual(['syncPod', 'syncTerminatingPod', 'syncTerminatedPod']);
    expect(errors).toMatchObject([[{ podUid: 'uid-1', step: 'syncPod', err: error }, 'Error syncing pod, skipping']]);
    const ends = workers.explain('uid-1')?.history.filter(({ what }) => what === 'syncPod');
    expect(ends).toMatchObject([{ outcome: 'terminal', error: 'back-off' }]);
  });

  it('terminates a pod when syncPod returns that it is terminal', async () => {
    syncer.script = ({ step }) => ({ isTerminal: step === 'syncPod' });
    workers.updatePod({ updateType: 'create', pod: pod() });
    await clock.settle();
    expect(syncer.steps()).toEqual(['syncPod', 'syncTerminatingPod', 'syncTerminatedPod']);
    expect(syncer.calls[1]?.graceSeconds).toBe(30);
  });

  it('a pod that had terminated before a kubelet restart is only cleaned up', async () => {
    workers.updatePod({ updateType: 'create', pod: pod({ phase: 'Succeeded' }) });
    expect(workers.isPodKnownTerminated('uid-1')).toBe(true);
    await clock.settle();
    expect(syncer.steps()).toEqual(['syncTerminatedPod']);
  });

  it.each([
    ['before the running pods are known', () => Object.assign(cache, { synced: false })],
    ['if its container still runs', () => Object.assign(cache, { entry: runningEntry() })],
    [
      'if its runtime status cannot be read',
      () => Object.assign(cache, { entry: { ...deadEntry(), error: new Error('x') } }),
    ],
  ])('terminates a Succeeded pod %s', async (_name, arrange) => {
    arrange();
    workers.updatePod({ updateType: 'create', pod: pod({ phase: 'Succeeded' }) });
    await clock.settle();
    expect(syncer.steps()).toEqual(['syncTerminatingPod', 'syncTerminatedPod']);
  });

  it('P6: a pod that only the runtime knows is killed without a sync and then forgotten', async () => {
    let completed = 0;
    workers.updatePod({
      updateType: 'kill',
      runningPod: runtimePod(),
      killPodOptions: { completed: () => completed++, gracePeriodSecondsOverride: 1 },
    });
    expect(workers.couldHaveRunningContainers('uid-1')).toBe(true);
    await clock.settle();
    expect(syncer.steps()).toEqual(['syncTerminatingRuntimePod']);
    expect(completed).toBe(1);
    expect(workers.explain('uid-1')).toBeUndefined();
  });

  it('P5: no container of a pod that terminated before all sources were ready may run, until the pod has a worker again', async () => {
    workers.updatePod({ updateType: 'kill', runningPod: runtimePod() });
    await clock.settle();
    expect(workers.couldHaveRunningContainers('uid-1')).toBe(false);
    expect(workers.couldHaveRunningContainers('unknown')).toBe(true);
    workers.updatePod({ updateType: 'create', pod: pod() });
    expect(workers.couldHaveRunningContainers('uid-1')).toBe(true);
  });
});

describe('the steps of one pod', () => {
  it('P2: updates of a pod that arrive during a step are merged into one step with the newest pod', async () => {
    syncer.script = () => ({ durationMs: 5000 });
    workers.updatePod({ updateType: 'create', pod: pod() });
    await clock.advance(1000);
    for (const graceSeconds of [1, 2, 3]) workers.updatePod({ updateType: 'update', pod: pod({ graceSeconds }) });
    await clock.advance(3999);
    expect(syncer.calls).toHaveLength(1);
    await clock.advance(1);
    expect(syncer.calls).toHaveLength(2);
    expect(syncer.calls[1]?.pod?.spec.terminationGracePeriodSeconds).toBe(3);
  });

  it('updates of a pod that arrive in one turn of the event loop are merged into one step', async () => {
    workers.updatePod({ updateType: 'create', pod: pod() });
    workers.updatePod({ updateType: 'update', pod: pod() });
    await clock.settle();
    expect(syncer.calls).toHaveLength(1);
  });

  it('P2: the next step of a pod waits for a step that ignores its abort signal', async () => {
    syncer.script = ({ step }) => (step === 'syncPod' ? { durationMs: 5000, deaf: true } : {});
    workers.updatePod({ updateType: 'create', pod: pod() });
    await clock.advance(1000);
    workers.updatePod({ updateType: 'kill', pod: pod() });
    await clock.advance(3999);
    expect(syncer.steps()).toEqual(['syncPod']);
    expect(workers.explain('uid-1')?.activity).toMatchObject({ kind: 'running', step: 'syncPod', cancelled: true });
    await clock.advance(1);
    expect(syncer.steps()).toEqual(['syncPod', 'syncTerminatingPod', 'syncTerminatedPod']);
  });

  it('a kill aborts a running sync of the pod', async () => {
    syncer.script = ({ step }) => (step === 'syncPod' ? { durationMs: 60_000 } : {});
    workers.updatePod({ updateType: 'create', pod: pod() });
    await clock.advance(1000);
    workers.updatePod({ updateType: 'kill', pod: pod() });
    await clock.settle();
    expect(syncer.calls[0]).toMatchObject({ aborted: true, endedAtMs: 1000 });
    await finish();
  });

  it('P2: a shorter grace period aborts a running termination, which is repeated with that grace period', async () => {
    syncer.script = ({ graceSeconds }) => ({ durationMs: (graceSeconds ?? 0) * 1000 });
    workers.updatePod({ updateType: 'kill', pod: pod() });
    await clock.advance(1000);
    workers.updatePod({ updateType: 'kill', pod: pod(), killPodOptions: { gracePeriodSecondsOverride: 2 } });
    await clock.advance(500);
    workers.updatePod({ updateType: 'kill', pod: pod(), killPodOptions: { gracePeriodSecondsOverride: 20 } });
    await clock.advance(1500);
    expect(syncer.calls.map((call) => [call.step, call.graceSeconds])).toEqual([
      ['syncTerminatingPod', 30],
      ['syncTerminatingPod', 2],
      ['syncTerminatedPod', undefined],
    ]);
  });

  it('a step reuses the runtime status after a sync that did nothing, but not after one that failed or changed something', async () => {
    const asked = async (script: StepScript): Promise<number | undefined> => {
      syncer.script = script;
      workers.wake('uid-1');
      await clock.advance(500);
      syncer.script = () => ({ idle: true });
      workers.wake('uid-1');
      await clock.advance(500);
      return cache.asked.at(-1)?.minTimeMs;
    };
    workers.updatePod({ updateType: 'create', pod: pod() });
    await clock.advance(500);
    expect(await asked(() => ({ idle: true }))).toBe(0);
    expect(await asked(() => ({ idle: false }))).toBe(1500);
    expect(await asked(() => ({ idle: true }))).toBe(1500);
    expect(await asked(() => ({ fail: new Error('x') }))).toBe(3500);
  });

  it('the clean-up waits for a runtime status newer than the last stop of a container (stoppedAtMs), or newer than the end of the termination step', async () => {
    const asked = async (uid: string, stoppedAtMs?: number): Promise<readonly number[]> => {
      cache.asked.length = 0;
      syncer.script = ({ step }) => {
        if (step !== 'syncTerminatingPod') return {};
        return { durationMs: 300, ...(stoppedAtMs !== undefined && { stoppedAtMs }) };
      };
      workers.updatePod({ updateType: 'kill', pod: pod({ uid, name: uid }) });
      await clock.advance(1000);
      return cache.asked.map(({ minTimeMs }) => minTimeMs);
    };
    expect(await asked('a')).toEqual([Number.NEGATIVE_INFINITY, 300]);
    expect(await asked('b', 1200)).toEqual([Number.NEGATIVE_INFINITY, 1200]);
  });

  it('a step waits for a runtime status newer than the last step, and a kill ends the wait', async () => {
    workers.updatePod({ updateType: 'create', pod: pod() });
    await clock.advance(500);
    expect(cache.asked).toEqual([{ uid: 'uid-1', minTimeMs: Number.NEGATIVE_INFINITY }]);
    syncer.script = () => ({ durationMs: 100 });
    workers.wake('uid-1');
    await clock.advance(500);
    cache.gate = new Promise(() => {});
    workers.wake('uid-1');
    await clock.advance(500);
    expect(cache.asked.at(-1)).toEqual({ uid: 'uid-1', minTimeMs: 600 });
    expect(workers.explain('uid-1')?.activity).toEqual({
      kind: 'waitingForStatus',
      sinceMs: clock.now() - 500,
      cancelled: false,
    });
    cache.gate = undefined;
    workers.updatePod({ updateType: 'kill', pod: pod() });
    await clock.advance(500);
    expect(syncer.steps()).toEqual(['syncPod', 'syncPod', 'syncTerminatingPod', 'syncTerminatedPod']);
  });
});

describe('kills of a pod', () => {
  it('P2: the status functions of all kills of a pod are applied in order', async () => {
    const add = (message: string) => (status: PodStatus) => ({
      ...status,
      reason: message,
      message: `${status.message}${message}`,
    });
    syncer.script = ({ step }) => (step === 'syncPod' ? { durationMs: 1000, deaf: true } : {});
    workers.updatePod({ updateType: 'create', pod: pod() });
    await clock.settle();
    workers.updatePod({ updateType: 'kill', pod: pod(), killPodOptions: { podStatusFn: add('a') } });
    workers.updatePod({ updateType: 'kill', pod: pod(), killPodOptions: { podStatusFn: add('b') } });
    workers.updatePod({ updateType: 'sync', pod: pod() });
    await clock.advance(1000);
    const fn = syncer.calls[1]?.podStatusFn;
    expect(fn?.({ message: '' })).toEqual({ reason: 'b', message: 'ab' });
  });

  it('killPodNow resolves when the containers have stopped, and leaves no timer', async () => {
    syncer.script = ({ step }) => ({
      durationMs: step === 'syncTerminatingPod' ? 3000 : 0,
      fail: step === 'syncTerminatedPod' ? 'x' : undefined,
    });
    let done = false;
    void workers.killPodNow(pod(), { evict: true, gracePeriodSecondsOverride: 2 }).then(() => {
      done = true;
    });
    await clock.advance(2999);
    expect(done).toBe(false);
    await clock.advance(1);
    expect(done).toBe(true);
    expect(syncer.calls[0]?.graceSeconds).toBe(2);
    expect(workers.shouldPodContentBeRemoved('uid-1')).toBe(true);
    syncer.script = () => ({});
    await finish();
    expect(clock.pendingTimers).toBe(0);
  });

  it.each([
    [undefined, 45_000],
    [2, 10_000],
    [9, 13_000],
  ])('killPodNow with a grace period of %s s rejects after %s ms with an event', async (seconds, timeoutMs) => {
    syncer.script = () => ({ durationMs: 99_000 });
    let error: unknown;
    const options = seconds === undefined ? {} : { gracePeriodSecondsOverride: seconds };
    workers.killPodNow(pod(), options).catch((thrown: unknown) => {
      error = thrown;
    });
    await clock.advance(timeoutMs - 1);
    expect(error).toBeUndefined();
    await clock.advance(1);
    expect(error).toMatchObject({ code: 'KillTimeout', message: 'timeout waiting to kill pod' });
    expect(events).toEqual([
      'Warning ExceededGracePeriod: Container runtime did not kill the pod within specified grace period.',
    ]);
  });

  it('killPodNow rejects when the pod workers stop, and immediately afterwards', async () => {
    syncer.script = () => ({ durationMs: 9000 });
    const killed = workers.killPodNow(pod()).catch((thrown: unknown) => thrown);
    await clock.advance(1000);
    stop.abort();
    await clock.settle();
    expect(await killed).toMatchObject({ name: 'PodWorkersError', code: 'Stopped' });
    await expect(workers.killPodNow(pod())).rejects.toMatchObject({ code: 'Stopped' });
    expect(clock.pendingTimers).toBe(0);
  });

  it.each([Number.NaN, Infinity, '5' as never])('killPodNow rejects a grace period of %s', async (seconds) => {
    const message = `gracePeriodSecondsOverride must be a finite number, not ${seconds}`;
    const killed = workers.killPodNow(pod(), { gracePeriodSecondsOverride: seconds });
    await expect(killed).rejects.toThrow(message);
    expect(workers.podCount).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });

  it('killPodNow stops waiting when its signal is aborted', async () => {
    syncer.script = () => ({ durationMs: 9000 });
    const signal = new AbortController();
    const killed = workers.killPodNow(pod(), {}, signal.signal);
    signal.abort(new Error('enough'));
    await expect(killed).rejects.toThrow('enough');
    await expect(workers.killPodNow(pod(), {}, signal.signal)).rejects.toThrow('enough');
    await finish();
  });
});

describe('retries of steps', () => {
  it('P7: a failed step is retried after the back-off with jitter', async () => {
    syncer.script = () => ({ fail: new Error('no such volume') });
    workers.updatePod({ updateType: 'create', pod: pod() });
    await clock.advance(9999);
    expect(syncer.calls).toHaveLength(1);
    expect(workers.explain('uid-1')?.activity).toMatchObject({ kind: 'backingOff', error: 'no such volume' });
    await clock.advance(5001);
    expect(syncer.calls).toHaveLength(2);
    expect(syncer.calls[1]).toMatchObject({ step: 'syncPod', updateType: 'sync' });
    expect(syncer.calls[1]?.atMs).toBeGreaterThan(10_000);
  });

  it('P2: a status function that arrives during the termination is applied before the completion callbacks are called', async () => {
    const log: string[] = [];
    const reasons = (): (string | undefined)[] =>
      syncer.calls
        .filter(({ step }) => step === 'syncTerminatingPod')
        .map(({ podStatusFn }) => podStatusFn?.({ phase: 'Running' }).reason);
    syncer.script = ({ step }) => ({ durationMs: step === 'syncTerminatingPod' ? 5_000 : 0 });
    workers.updatePod({ updateType: 'kill', pod: pod() });
    await clock.advance(1_000);
    const podStatusFn = (status: object): object => ({ ...status, reason: 'Evicted' });
    workers.updatePod({
      updateType: 'kill',
      pod: pod(),
      killPodOptions: { podStatusFn, completed: () => void log.push(`ended after ${reasons().join()}`) },
    });
    await finish();
    expect(reasons()).toEqual([undefined, 'Evicted']);
    expect(log).toEqual(['ended after ,Evicted']);
    expect(syncer.steps()).toEqual(['syncTerminatingPod', 'syncTerminatingPod', 'syncTerminatedPod']);
  });

  it('P2: the termination runs once if a status function arrives while it waits for the runtime status', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    cache.gate = promise;
    workers.updatePod({ updateType: 'kill', pod: pod() });
    await clock.settle();
    const podStatusFn = (status: object): object => ({ ...status, reason: 'Evicted' });
    workers.updatePod({ updateType: 'kill', pod: pod(), killPodOptions: { podStatusFn } });
    resolve();
    await finish();
    expect(syncer.calls[0]?.podStatusFn?.({}).reason).toBe('Evicted');
    expect(syncer.steps()).toEqual(['syncTerminatingPod', 'syncTerminatedPod']);
  });

  it('P7: a wake-up syncs a failing pod without waiting for the back-off', async () => {
    syncer.script = () => ({ fail: new Error('x') });
    workers.updatePod({ updateType: 'create', pod: pod() });
    await clock.advance(1000);
    workers.wake('uid-1');
    await clock.settle();
    expect(syncer.calls.map((call) => call.atMs)).toEqual([0, 1000]);
    expect(clock.pendingTimers).toBe(1);
  });

  it('P7: a step whose requested retry time passed while it ran is retried immediately once, and then after the back-off', async () => {
    syncer.script = ({ atMs }) => ({ durationMs: 1, fail: Object.assign(new Error('x'), { retryAtMs: atMs + 1 }) });
    workers.updatePod({ updateType: 'create', pod: pod() });
    await clock.advance(9_000);
    expect(syncer.calls.map((call) => call.atMs)).toEqual([0, 1]);
    await clock.advance(6_100);
    expect(syncer.calls).toHaveLength(4);
  });

  it('P7: failed terminations and clean-ups are retried until they succeed', async () => {
    const failures = new Map([
      ['syncTerminatingPod', 2],
      ['syncTerminatedPod', 2],
    ]);
    syncer.script = ({ step }) => {
      const left = failures.get(step) ?? 0;
      failures.set(step, left - 1);
      return left > 0 ? { fail: new Error('x') } : {};
    };
    workers.updatePod({ updateType: 'kill', pod: pod() });
    await finish();
    expect(syncer.steps()).toEqual([
      'syncTerminatingPod',
      'syncTerminatingPod',
      'syncTerminatingPod',
      'syncTerminatedPod',
      'syncTerminatedPod',
      'syncTerminatedPod',
    ]);
  });

  it('a runtime status that cannot be read records an event, and the step is retried', async () => {
    cache.fail = new Error('the runtime is down');
    workers.updatePod({ updateType: 'create', pod: pod() });
    await clock.settle();
    expect(events).toEqual(['Warning FailedSync: error determining status: the runtime is down']);
    expect(syncer.calls).toEqual([]);
    cache.fail = undefined;
    await clock.advance(15_000);
    expect(syncer.calls).toHaveLength(1);
  });

  it('syncs an idle pod again after the resync interval', async () => {
    workers.updatePod({ updateType: 'create', pod: pod(), mirrorPod: pod({ uid: 'mirror' }) });
    await clock.advance(59_999);
    expect(syncer.calls).toHaveLength(1);
    expect(workers.explain('uid-1')?.activity.kind).toBe('idle');
    await clock.advance(30_001);
    expect(syncer.calls).toHaveLength(2);
    expect(syncer.calls[1]?.mirrorPod?.metadata.uid).toBe('mirror');
  });

  it('a pod worker continues after a completion callback of a kill throws', async () => {
    const completed = (): void => {
      throw new Error('x');
    };
    workers.updatePod({ updateType: 'kill', pod: pod(), killPodOptions: { completed } });
    await finish();
  });
});

describe('static pods of one full name', () => {
  const a = pod({ uid: 'a', static: true });
  const b = pod({ uid: 'b', static: true });
  const c = pod({ uid: 'c', static: true });

  it('P4: static pods of one full name run one at a time in order of arrival, each when the one before has finished', async () => {
    syncer.script = ({ step }) => ({ durationMs: step === 'syncPod' ? 0 : 1000 });
    for (const each of [a, b, c]) workers.updatePod({ updateType: 'create', pod: each });
    await clock.advance(5000);
    expect(syncer.calls.map((call) => call.uid)).toEqual(['a']);
    expect(workers.explain('b')?.activity).toMatchObject({ kind: 'waitingForFullName', holderUid: 'a' });
    workers.updatePod({ updateType: 'kill', pod: a });
    await clock.advance(1);
    expect(workers.isPodForMirrorPodTerminatingByFullName('web_default', 'a')).toBe(true);
    await clock.advance(1998);
    expect(syncer.steps('b')).toEqual([]);
    expect(workers.isPodForMirrorPodTerminatingByFullName('web_default', 'a')).toBe(false);
    await clock.advance(1);
    expect(syncer.steps('b')).toEqual(['syncPod']);
    expect(syncer.steps('c')).toEqual([]);
    expect(workers.isPodForMirrorPodTerminatingByFullName('web_default', 'b')).toBe(false);
  });

  it('F3: the mirror pod is kept while another pod has the full name or still runs according to the runtime', async () => {
    const mustStay = (next?: string): boolean => workers.isPodForMirrorPodTerminatingByFullName('web_default', next);
    cache.running = undefined;
    expect([mustStay(), mustStay('b')]).toEqual([true, true]);
    cache.running = ['a'];
    expect([mustStay(), mustStay('a'), mustStay('b')]).toEqual([true, false, true]);
    // Pod `a` is terminated because no source has it, and is added again while it terminates.
    syncer.script = () => ({ durationMs: 1000 });
    workers.updatePod({ updateType: 'kill', runningPod: runtimePod('a') });
    await clock.advance(500);
    expect(mustStay('a')).toBe(true);
    syncer.script = () => ({ durationMs: 0 });
    await clock.advance(500);
    workers.updatePod({ updateType: 'create', pod: b });
    await clock.advance(5000);
    expect(mustStay('b')).toBe(true);
    cache.running = [];
    await clock.advance(1000);
    expect(syncer.steps('b')).toEqual(['syncPod']);
    expect([mustStay(), mustStay('b'), mustStay('c')]).toEqual([true, false, true]);
    workers.updatePod({ updateType: 'kill', pod: b });
    await finish('b');
    expect([mustStay(), mustStay('c')]).toEqual([false, false]);
  });

  it('P4: a static pod waits until no container runs of a pod of its name that only the runtime knows', async () => {
    cache.running = undefined;
    workers.updatePod({ updateType: 'create', pod: pod({ static: true, uid: 'new' }) });
    await clock.advance(5000);
    expect(syncer.steps('new')).toEqual([]);
    expect(workers.explain('new')?.activity).toMatchObject({ kind: 'waitingForFullName', holderUid: undefined });
    cache.running = ['old'];
    await clock.advance(5000);
    expect(syncer.steps('new')).toEqual([]);
    expect(workers.explain('new')?.activity).toMatchObject({ kind: 'waitingForFullName', holderUid: 'old' });
    expect(workers.explain('new')?.activity.kind).toBe('waitingForFullName');
    workers.updatePod({ updateType: 'kill', runningPod: runtimePod('old') });
    await clock.advance(100);
    expect(syncer.steps('old')).toEqual(['syncTerminatingRuntimePod']);
    cache.running = [];
    await clock.advance(1000);
    expect(syncer.steps('new')).toEqual(['syncPod']);
    workers.updatePod({ updateType: 'kill', pod: pod({ static: true, uid: 'new' }) });
    await finish('new');
  });

  it.each([
    ['is terminated if it runs', ['web'], ['syncTerminatingPod', 'syncTerminatedPod']],
    ['is finished if it does not run', [], []],
  ])(
    'C5: the termination of a waiting static pod is delayed until the running pods are known; then the pod %s',
    async (_how, running, steps) => {
      cache.running = undefined;
      const completed = vi.fn();
      const web = pod({ uid: 'web', static: true });
      workers.updatePod({ updateType: 'create', pod: web });
      workers.updatePod({ updateType: 'kill', pod: web, killPodOptions: { completed } });
      await clock.advance(5000);
      expect(completed).not.toHaveBeenCalled();
      expect(workers.couldHaveRunningContainers('web')).toBe(true);
      cache.running = running;
      await clock.advance(5000);
      expect(syncer.steps('web')).toEqual(steps);
      expect(completed).toHaveBeenCalledOnce();
      expect(workers.shouldPodBeFinished('web')).toBe(true);
    },
  );

  it('P4: after a kubelet restart the running static pod continues and the other one of its name waits, in any order of addition', async () => {
    cache.running = ['old'];
    workers.updatePod({ updateType: 'create', pod: pod({ static: true, uid: 'new' }) });
    workers.updatePod({ updateType: 'create', pod: pod({ static: true, uid: 'old' }) });
    await clock.advance(1000);
    expect(syncer.steps('old')).toEqual(['syncPod']);
    expect(syncer.steps('new')).toEqual([]);
    workers.updatePod({ updateType: 'kill', pod: pod({ static: true, uid: 'old' }) });
    cache.running = [];
    await clock.advance(1000);
    expect(syncer.steps('new')).toEqual(['syncPod']);
    workers.updatePod({ updateType: 'kill', pod: pod({ static: true, uid: 'new' }) });
    await finish('new');
  });

  it('P4: a waiting static pod that is killed finishes without a step, and does not block the next one', async () => {
    for (const each of [a, b, c]) workers.updatePod({ updateType: 'create', pod: each });
    await clock.settle();
    let completed = 0;
    workers.updatePod({ updateType: 'kill', pod: b, killPodOptions: { completed: () => completed++ } });
    await clock.settle();
    expect(workers.explain('b')?.phase).toBe('finished');
    expect(completed).toBe(1);
    workers.updatePod({ updateType: 'kill', pod: a });
    await clock.settle();
    expect(syncer.steps('b')).toEqual([]);
    expect(syncer.steps('c')).toEqual(['syncPod']);
  });

  it('P4: a waiting static pod that leaves the configuration is forgotten, and the next one starts', async () => {
    for (const each of [a, b, c]) workers.updatePod({ updateType: 'create', pod: each });
    await clock.settle();
    expect([...workers.syncKnownPods([a, c]).keys()]).toEqual(['a', 'c']);
    workers.updatePod({ updateType: 'kill', pod: a });
    await clock.settle();
    expect(syncer.steps('c')).toEqual(['syncPod']);
  });

  it('P4: API pods with the same full name run at the same time', async () => {
    workers.updatePod({ updateType: 'create', pod: pod({ uid: 'a' }) });
    workers.updatePod({ updateType: 'create', pod: pod({ uid: 'b' }) });
    await clock.settle();
    expect(syncer.calls.map((call) => call.uid)).toEqual(['a', 'b']);
  });

  it('P3: a new pod with the UID of a finished pod starts after housekeeping has run', async () => {
    workers.updatePod({ updateType: 'create', pod: a });
    await clock.settle();
    workers.updatePod({ updateType: 'kill', pod: a });
    workers.updatePod({ updateType: 'create', pod: a });
    expect(workers.explain('a')?.restartRequested).toBe(true);
    expect([...workers.syncKnownPods([a]).keys()]).toEqual(['a']);
    await clock.settle();
    expect(syncer.steps('a')).toEqual(['syncPod', 'syncTerminatingPod', 'syncTerminatedPod']);
    expect([...workers.syncKnownPods([a]).keys()]).toEqual([]);
    workers.updatePod({ updateType: 'create', pod: a });
    await clock.settle();
    expect(syncer.steps('a').at(-1)).toBe('syncPod');
  });

  it('P3: forgetReused forgets a finished pod that is desired again, and unknown pods still do not count as gone (P5)', async () => {
    for (const pod of [a, b]) workers.updatePod({ updateType: 'create', pod });
    await clock.settle();
    for (const pod of [a, b]) workers.updatePod({ updateType: 'kill', pod });
    workers.updatePod({ updateType: 'create', pod: a });
    expect(workers.forgetReused([a, b])).toEqual([]);
    await clock.settle();
    // The other pod is finished and was not requested again.
    expect(workers.forgetReused([a, b, c])).toEqual(['a']);
    expect([workers.explain('a'), workers.explain('b')?.phase]).toEqual([undefined, 'finished']);
    expect(workers.shouldPodContentBeRemoved('unknown')).toBe(false);
    workers.updatePod({ updateType: 'create', pod: a });
    await clock.settle();
    expect(syncer.steps('a').at(-1)).toBe('syncPod');
  });
});

describe('predicates for other managers', () => {
  it('P5: an unknown pod counts as gone only after the first housekeeping', () => {
    const answers = (): boolean[] => [
      workers.shouldPodBeFinished('x'),
      workers.shouldPodContainersBeTerminating('x'),
      workers.shouldPodRuntimeBeRemoved('x'),
      workers.shouldPodContentBeRemoved('x'),
      !workers.couldHaveRunningContainers('x'),
    ];
    expect(answers()).toEqual([false, false, false, false, false]);
    workers.syncKnownPods([]);
    expect(answers()).toEqual([true, true, true, true, true]);
    expect(workers.isPodKnownTerminated('x')).toBe(false);
    expect(workers.isPodTerminationRequested('x')).toBe(false);
    expect(workers.isPodForMirrorPodTerminatingByFullName('x_default')).toBe(false);
  });

  it('P5: the predicates for other managers follow a pod through its life', async () => {
    syncer.script = () => ({ durationMs: 1000, deaf: true });
    const answers = (): string =>
      [
        workers.couldHaveRunningContainers('uid-1') && 'may run',
        workers.isPodTerminationRequested('uid-1') && 'requested',
        workers.shouldPodContainersBeTerminating('uid-1') && 'terminating',
        workers.isPodKnownTerminated('uid-1') && 'terminated',
        workers.shouldPodRuntimeBeRemoved('uid-1') && 'runtime goes',
        workers.shouldPodContentBeRemoved('uid-1') && 'content goes',
        workers.shouldPodBeFinished('uid-1') && 'finished',
      ]
        .filter((answer) => answer !== false)
        .join(', ');
    workers.updatePod({ updateType: 'create', pod: pod() });
    await clock.advance(500);
    expect(answers()).toBe('may run');
    workers.updatePod({ updateType: 'update', pod: pod({ deleted: true }) });
    expect(answers()).toBe('may run, requested');
    await clock.advance(1000);
    expect(answers()).toBe('may run, requested, terminating');
    await clock.advance(1000);
    expect(answers()).toBe('requested, terminating, terminated, runtime goes, content goes');
    await clock.advance(1000);
    expect(answers()).toBe('requested, terminating, terminated, runtime goes, content goes, finished');
  });

  it('the volumes of a killed pod are kept until the pod is deleted; the volumes of an evicted pod are removed earlier', async () => {
    workers.updatePod({ updateType: 'kill', pod: pod({ uid: 'a', name: 'a' }) });
    workers.updatePod({ updateType: 'kill', pod: pod({ uid: 'b', name: 'b' }), killPodOptions: { evict: true } });
    expect(workers.shouldPodContentBeRemoved('b')).toBe(true);
    await clock.settle();
    expect(workers.shouldPodContentBeRemoved('a')).toBe(false);
  });

  it('syncKnownPods reports each pod worker to housekeeping', async () => {
    syncer.script = ({ step, uid }) => ({ durationMs: step === 'syncPod' ? 0 : uid === 'gone' ? 500 : 1000 });
    workers.updatePod({ updateType: 'create', pod: pod({ uid: 'api', name: 'api' }) });
    workers.updatePod({ updateType: 'create', pod: pod({ uid: 'static', name: 'static', static: true }) });
    workers.updatePod({ updateType: 'kill', runningPod: runtimePod('orphan', 'orphan') });
    workers.updatePod({ updateType: 'create', pod: pod({ uid: 'gone', name: 'gone' }) });
    await clock.settle();
    const desired = [pod({ uid: 'api' }), pod({ uid: 'static' })];
    expect(Object.fromEntries(workers.syncKnownPods(desired))).toEqual({
      api: { state: 'sync', orphan: false, hasConfig: true, static: false },
      static: { state: 'sync', orphan: false, hasConfig: true, static: true },
      orphan: { state: 'terminating', orphan: true, hasConfig: false, static: false },
      gone: { state: 'terminating', orphan: true, hasConfig: true, static: false },
    });
    await clock.advance(600);
    expect(workers.syncKnownPods(desired).get('gone')?.state).toBe('terminated');
    await clock.advance(1000);
    expect([...workers.syncKnownPods(desired).keys()]).toEqual(['api', 'static']);
  });

  it('explain returns the activity and a bounded history of a pod worker', async () => {
    syncer.script = ({ step }) => (step === 'syncPod' ? { durationMs: 250, fail: new Error('no image') } : {});
    workers.updatePod({ updateType: 'create', pod: pod() });
    await clock.advance(1000);
    const explanation = workers.explain('uid-1');
    expect(explanation).toMatchObject({
      name: 'web',
      phase: 'syncing',
      activity: { kind: 'backingOff', sinceMs: clock.now() - 750, error: 'no image' },
    });
    expect(explanation?.history).toMatchObject([
      { what: 'phase', phase: 'syncing' },
      { what: 'update', updateType: 'create' },
      { what: 'syncPod', durationMs: 250, outcome: 'failed', error: 'no image' },
    ]);
    await clock.advance(1_000_000);
    expect(workers.explain('uid-1')?.history).toHaveLength(20);
    workers.updatePod({ updateType: 'kill', pod: pod() });
    expect(workers.explain('uid-1')).toMatchObject({ phase: 'terminating', gracePeriodSeconds: 30 });
  });
});

it('explain keeps the history in order even if events have the same time', async () => {
  let reads = 0;
  const ticking: Clock = {
    now: () => clock.now() + ++reads / 1000,
    monotonic: () => clock.monotonic(),
    setTimer: (ms, callback) => clock.setTimer(ms, callback),
  };
  const recorder = { event() {} };
  const parts = {
    syncer,
    podCache: cache,
    random: seededRandom(1),
    logger: silentLogger,
    metrics: noMetrics,
    recorder,
  };
  const others = new PodWorkers({ ...parts, clock: ticking });
  const running = others.start(stop.signal);
  others.updatePod({ updateType: 'create', pod: pod() });
  await clock.settle();
  others.updatePod({ updateType: 'kill', pod: pod() });
  await clock.advance(60_000);
  const times = others.explain('uid-1')?.history.map(({ atMs }) => atMs) ?? [];
  expect(times.length).toBeGreaterThan(4);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  stop.abort();
  await clock.advance(100_000);
  await running;
});

describe('start and stop of the pod workers', () => {
  it('pod workers run no step before start, and then the updates that arrived earlier', async () => {
    const idle = new PodWorkers({
      syncer,
      podCache: cache,
      clock,
      random: seededRandom(1),
      logger: silentLogger,
      metrics: noMetrics,
      recorder: { event() {} },
    });
    idle.updatePod({ updateType: 'create', pod: pod() });
    await clock.advance(1000);
    expect(syncer.calls).toEqual([]);
    expect(idle.explain('uid-1')?.activity.kind).toBe('queued');
    const running = idle.start(stop.signal);
    await clock.settle();
    expect(syncer.calls).toHaveLength(1);
    stop.abort();
    await running;
  });

  it('stopping the pod workers aborts running steps, waits for them, and leaves no timer or listener', async () => {
    syncer.script = ({ uid }) => ({ durationMs: uid === 'uid-2' ? 3000 : 60_000, deaf: uid === 'uid-2' });
    workers.updatePod({ updateType: 'create', pod: pod() });
    workers.updatePod({ updateType: 'create', pod: pod({ uid: 'uid-2' }) });
    await clock.advance(1000);
    let over = false;
    void ended.then(() => {
      over = true;
    });
    stop.abort();
    await clock.advance(1999);
    expect(syncer.calls[0]).toMatchObject({ endedAtMs: 1000, aborted: true });
    expect(over).toBe(false);
    await clock.advance(1);
    expect(over).toBe(true);
    workers.updatePod({ updateType: 'create', pod: pod({ uid: 'uid-3' }) });
    await clock.advance(100_000);
    expect(syncer.calls).toHaveLength(2);
  });

  it('rejects a second start of the pod workers', async () => {
    await expect(workers.start(stop.signal)).rejects.toBeInstanceOf(PodWorkersError);
  });

  it('updatePod rejects an update without pod and runningPod', () => {
    expect(() => workers.updatePod({ updateType: 'kill' })).toThrow('must have pod or runningPod');
  });
});

function runningEntry(): NonNullable<FreshCache['entry']> {
  const status = podStatus('uid-1');
  return {
    status: {
      ...status,
      sandboxes: [
        { id: 's', state: 'ready', attempt: 0, createdAtMs: 0, ips: [], hostNetwork: false, runtimeHandler: '' },
      ],
    },
  };
}

function deadEntry(): NonNullable<FreshCache['entry']> {
  return { status: podStatus('uid-1') };
}

describe('updates in fast succession', () => {
  /** Updates the pod once per millisecond, each time with a different grace period. */
  async function storm(milliseconds: number): Promise<void> {
    for (let ms = 0; ms < milliseconds; ms++) {
      workers.updatePod({ updateType: 'update', pod: pod({ graceSeconds: 100 + ms }) });
      await clock.advance(1);
    }
  }

  it('P2: the first of many fast updates is handled immediately, the others ten times a second with the newest pod', async () => {
    workers.updatePod({ updateType: 'create', pod: pod() });
    await clock.settle();
    await storm(950);
    expect(syncer.calls.map((call) => call.atMs)).toEqual([0, 0, 100, 200, 300, 400, 500, 600, 700, 800, 900]);
    expect(workers.explain('uid-1')?.activity).toMatchObject({ kind: 'coalescing', untilMs: clock.now() + 50 });
    await clock.advance(50);
    expect(syncer.calls).toHaveLength(12);
    expect(syncer.calls.at(-1)?.pod?.spec.terminationGracePeriodSeconds).toBe(1049);
  });

  it.each<[string, (of: PodWorkers) => void, string]>([
    ['a container that died', (of) => of.wake('uid-1'), 'syncPod'],
    ['a kill', (of) => of.updatePod({ updateType: 'kill', pod: pod() }), 'syncTerminatingPod'],
    ['a deletion', (of) => of.updatePod({ updateType: 'update', pod: pod({ deleted: true }) }), 'syncTerminatingPod'],
    ['a readiness gate', (of) => of.updatePod({ updateType: 'sync', pod: pod() }), 'syncPod'],
  ])('P7: many fast updates of a pod do not delay %s', async (_what, happens, step) => {
    workers.updatePod({ updateType: 'create', pod: pod() });
    await clock.settle();
    await storm(50);
    const before = syncer.calls.length;
    happens(workers);
    await clock.settle();
    expect(syncer.calls[before]).toMatchObject({ step, atMs: 50 });
  });

  it('P7: many fast updates do not delay the sync for a container that dies during a step', async () => {
    syncer.script = () => ({ durationMs: 10 });
    workers.updatePod({ updateType: 'create', pod: pod() });
    await clock.advance(20);
    workers.updatePod({ updateType: 'update', pod: pod() });
    await clock.advance(1);
    workers.updatePod({ updateType: 'update', pod: pod() });
    workers.wake('uid-1');
    await clock.advance(9);
    expect(syncer.calls.map((call) => call.atMs)).toEqual([0, 20, 30]);
  });
});

it('start ends when the pod workers are disposed of, and removes its abort listener', async () => {
  const others = new PodWorkers({ syncer, podCache: cache, clock });
  const { signal } = new AbortController();
  const removed = vi.spyOn(signal, 'removeEventListener');
  const running = others.start(signal);
  await others[Symbol.asyncDispose]();
  await running;
  expect(removed).toHaveBeenCalledWith('abort', expect.any(Function));
});
