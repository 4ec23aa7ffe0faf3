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

/** Runs all the way to the end of the pod's life. */
async function finish(uid = 'uid-1'): Promise<void> {
  await clock.advance(60_000);
  expect(workers.explain(uid)?.phase).toBe('finished');
}

describe('the life of a pod', () => {
  it('P1: goes through its three steps in order, and stays finished', async () => {
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

  it('an error of a sync that finds the pod terminal is logged and remembered, and nothing is tried again', async () => {
    const error = new Error('back-off');
    syncer.script = ({ step }) => (step === 'syncPod' ? { isTerminal: true, error } : {});
    workers.updatePod({ updateType: 'create', pod: pod() });
    await finish();
    expect(syncer.steps()).toEqual(['syncPod', 'syncTerminatingPod', 'syncTerminatedPod']);
    expect(errors).toMatchObject([[{ podUid: 'uid-1', step: 'syncPod', err: error }, 'Error syncing pod, skipping']]);
    const ends = workers.explain('uid-1')?.history.filter(({ what }) => what === 'syncPod');
    expect(ends).toMatchObject([{ outcome: 'terminal', error: 'back-off' }]);
  });

  it('terminates by itself when syncPod says that the pod is terminal', async () => {
    syncer.script = ({ step }) => ({ isTerminal: step === 'syncPod' });
    workers.updatePod({ updateType: 'create', pod: pod() });
    await clock.settle();
    expect(syncer.steps()).toEqual(['syncPod', 'syncTerminatingPod', 'syncTerminatedPod']);
    expect(syncer.calls[1]?.graceSeconds).toBe(30);
  });

  it('a pod that had terminated before the kubelet was restarted is cleaned up only', async () => {
    workers.updatePod({ updateType: 'create', pod: pod({ phase: 'Succeeded' }) });
    expect(workers.isPodKnownTerminated('uid-1')).toBe(true);
    await clock.settle();
    expect(syncer.steps()).toEqual(['syncTerminatedPod']);
  });

  it.each([
    ['before the runtime has been seen', () => Object.assign(cache, { synced: false })],
    ['where its container still runs', () => Object.assign(cache, { entry: runningEntry() })],
    [
      'where its status could not be read',
      () => Object.assign(cache, { entry: { ...deadEntry(), error: new Error('x') } }),
    ],
  ])('a Succeeded pod is terminated all the same %s', async (_name, arrange) => {
    arrange();
    workers.updatePod({ updateType: 'create', pod: pod({ phase: 'Succeeded' }) });
    await clock.settle();
    expect(syncer.steps()).toEqual(['syncTerminatingPod', 'syncTerminatedPod']);
  });

  it('P6: a pod that only the runtime knows is killed, never synced, and forgotten', async () => {
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
});

describe('one step at a time', () => {
  it('P2: updates that come while a step runs become one next step, with the newest', async () => {
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

  it('updates of one turn of the event loop are one step', async () => {
    workers.updatePod({ updateType: 'create', pod: pod() });
    workers.updatePod({ updateType: 'update', pod: pod() });
    await clock.settle();
    expect(syncer.calls).toHaveLength(1);
  });

  it('P2: a step that does not listen to its signal is waited for', async () => {
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

  it('a kill aborts a running sync at once', async () => {
    syncer.script = ({ step }) => (step === 'syncPod' ? { durationMs: 60_000 } : {});
    workers.updatePod({ updateType: 'create', pod: pod() });
    await clock.advance(1000);
    workers.updatePod({ updateType: 'kill', pod: pod() });
    await clock.settle();
    expect(syncer.calls[0]).toMatchObject({ aborted: true, endedAtMs: 1000 });
    await finish();
  });

  it('P2: a shorter grace period aborts a running termination, which goes on with it', async () => {
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

  it('after a sync that did nothing the same status will do, after one that failed or did something it will not', async () => {
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

  it('after a termination a status will do from after its end, or from when nothing ran any more, where that is told', async () => {
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

  it('a step waits for a status from after the last one, and a kill ends the waiting', async () => {
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

describe('kills', () => {
  it('P2: the status functions of all kills apply, the last one last', async () => {
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

  it('killPodNow resolves when the containers are gone, and leaves no timer', async () => {
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
  ])('killPodNow with a grace period of %s s gives up after %s ms, and says so', async (seconds, timeoutMs) => {
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

  it('killPodNow is told when the workers end, and afterwards at once', async () => {
    syncer.script = () => ({ durationMs: 9000 });
    const killed = workers.killPodNow(pod()).catch((thrown: unknown) => thrown);
    await clock.advance(1000);
    stop.abort();
    await clock.settle();
    expect(await killed).toMatchObject({ name: 'PodWorkersError', code: 'Stopped' });
    await expect(workers.killPodNow(pod())).rejects.toMatchObject({ code: 'Stopped' });
    expect(clock.pendingTimers).toBe(0);
  });

  it.each([Number.NaN, Infinity, '5' as never])('killPodNow refuses a grace period of %s', async (seconds) => {
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

describe('retries', () => {
  it('P7: a failed step is tried again after the back-off, jittered', async () => {
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

  it('P2: a status function that comes while the pod is ended is applied, before anybody is told that it has', async () => {
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

  it('P2: a status function that comes while the status is waited for has the step run once', async () => {
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

  it('P7: a wake does not wait for the back-off', async () => {
    syncer.script = () => ({ fail: new Error('x') });
    workers.updatePod({ updateType: 'create', pod: pod() });
    await clock.advance(1000);
    workers.wake('uid-1');
    await clock.settle();
    expect(syncer.calls.map((call) => call.atMs)).toEqual([0, 1000]);
    expect(clock.pendingTimers).toBe(1);
  });

  it('P7: an error that asks for now whenever it comes is tried again at once, and then after the back-off', async () => {
    syncer.script = ({ atMs }) => ({ durationMs: 1, fail: Object.assign(new Error('x'), { retryAtMs: atMs + 1 }) });
    workers.updatePod({ updateType: 'create', pod: pod() });
    await clock.advance(9_000);
    expect(syncer.calls.map((call) => call.atMs)).toEqual([0, 1]);
    await clock.advance(6_100);
    expect(syncer.calls).toHaveLength(4);
  });

  it('P7: failed terminations and clean-ups are tried again, until they succeed', async () => {
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

  it('a status that cannot be read is an event, and tried again', async () => {
    cache.fail = new Error('the runtime is down');
    workers.updatePod({ updateType: 'create', pod: pod() });
    await clock.settle();
    expect(events).toEqual(['Warning FailedSync: error determining status: the runtime is down']);
    expect(syncer.calls).toEqual([]);
    cache.fail = undefined;
    await clock.advance(15_000);
    expect(syncer.calls).toHaveLength(1);
  });

  it('a pod that is well is looked at again after the resync interval', async () => {
    workers.updatePod({ updateType: 'create', pod: pod(), mirrorPod: pod({ uid: 'mirror' }) });
    await clock.advance(59_999);
    expect(syncer.calls).toHaveLength(1);
    expect(workers.explain('uid-1')?.activity.kind).toBe('idle');
    await clock.advance(30_001);
    expect(syncer.calls).toHaveLength(2);
    expect(syncer.calls[1]?.mirrorPod?.metadata.uid).toBe('mirror');
  });

  it('the callback of a kill that throws harms nobody', async () => {
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

  it('P4: one runs at a time, first come first started, each as soon as the one before is finished', async () => {
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

  it('F3: a mirror pod stays while another pod has its full name, or only the runtime knows that one runs', async () => {
    const mustStay = (next?: string): boolean => workers.isPodForMirrorPodTerminatingByFullName('web_default', next);
    cache.running = undefined;
    expect([mustStay(), mustStay('b')]).toEqual([true, true]);
    cache.running = ['a'];
    expect([mustStay(), mustStay('a'), mustStay('b')]).toEqual([true, false, true]);
    // It is ended as nobody wants it, and comes again meanwhile.
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

  it('P4: one whose predecessor only the runtime knows waits until nothing of that runs', async () => {
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
    ['is ended where it turns out to run', ['web'], ['syncTerminatingPod', 'syncTerminatedPod']],
    ['is finished where it turns out not to', [], []],
  ])('C5: one that is killed before it is known what runs waits for that, and %s', async (_how, running, steps) => {
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
  });

  it('P4: after a restart the one of two that runs goes on, and the other waits, whichever comes first', async () => {
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

  it('P4: one that is killed while it waits is finished without a step, and the next in line is not held back', async () => {
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

  it('P4: one that leaves the configuration while it waits is forgotten, and the next goes on', async () => {
    for (const each of [a, b, c]) workers.updatePod({ updateType: 'create', pod: each });
    await clock.settle();
    expect([...workers.syncKnownPods([a, c]).keys()]).toEqual(['a', 'c']);
    workers.updatePod({ updateType: 'kill', pod: a });
    await clock.settle();
    expect(syncer.steps('c')).toEqual(['syncPod']);
  });

  it('P4: pods of the API server with one full name do not wait for each other', async () => {
    workers.updatePod({ updateType: 'create', pod: pod({ uid: 'a' }) });
    workers.updatePod({ updateType: 'create', pod: pod({ uid: 'b' }) });
    await clock.settle();
    expect(syncer.calls.map((call) => call.uid)).toEqual(['a', 'b']);
  });

  it('P3: one that comes back with its UID starts again once it is finished and housekeeping has seen it', async () => {
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

  it('P3: one that comes back with its UID can be forgotten alone once it is finished, and nobody counts as gone by that (P5)', async () => {
    for (const pod of [a, b]) workers.updatePod({ updateType: 'create', pod });
    await clock.settle();
    for (const pod of [a, b]) workers.updatePod({ updateType: 'kill', pod });
    workers.updatePod({ updateType: 'create', pod: a });
    expect(workers.forgetReused([a, b])).toEqual([]);
    await clock.settle();
    // The other one is finished, and nobody has asked for it again.
    expect(workers.forgetReused([a, b, c])).toEqual(['a']);
    expect([workers.explain('a'), workers.explain('b')?.phase]).toEqual([undefined, 'finished']);
    expect(workers.shouldPodContentBeRemoved('unknown')).toBe(false);
    workers.updatePod({ updateType: 'create', pod: a });
    await clock.settle();
    expect(syncer.steps('a').at(-1)).toBe('syncPod');
  });
});

describe('what others ask', () => {
  it('P5: an unknown pod counts as gone only after housekeeping has compared once', () => {
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

  it('P5: the answers follow the pod through its life', async () => {
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

  it('a killed pod keeps its content until it is deleted; an evicted one does not', async () => {
    workers.updatePod({ updateType: 'kill', pod: pod({ uid: 'a', name: 'a' }) });
    workers.updatePod({ updateType: 'kill', pod: pod({ uid: 'b', name: 'b' }), killPodOptions: { evict: true } });
    expect(workers.shouldPodContentBeRemoved('b')).toBe(true);
    await clock.settle();
    expect(workers.shouldPodContentBeRemoved('a')).toBe(false);
  });

  it('housekeeping is told of each worker', async () => {
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

  it('explains what happened to a pod, with a bounded history', async () => {
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

it('has its history in order, however little time passes between what happened', async () => {
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

describe('start and stop', () => {
  it('nothing runs before start, and what came before then runs', async () => {
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

  it('stop aborts what runs, waits for it, and leaves nothing', async () => {
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

  it('cannot be started twice', async () => {
    await expect(workers.start(stop.signal)).rejects.toBeInstanceOf(PodWorkersError);
  });

  it('an update that names no pod is refused', () => {
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

describe('updates that follow each other fast', () => {
  /** Annotations that change every millisecond. */
  async function storm(milliseconds: number): Promise<void> {
    for (let ms = 0; ms < milliseconds; ms++) {
      workers.updatePod({ updateType: 'update', pod: pod({ graceSeconds: 100 + ms }) });
      await clock.advance(1);
    }
  }

  it('P2: the first is acted upon at once, then the newest ten times a second, and the last one too', async () => {
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
  ])('P7: %s is not put off with them', async (_what, happens, step) => {
    workers.updatePod({ updateType: 'create', pod: pod() });
    await clock.settle();
    await storm(50);
    const before = syncer.calls.length;
    happens(workers);
    await clock.settle();
    expect(syncer.calls[before]).toMatchObject({ step, atMs: 50 });
  });

  it('P7: a container that dies while their step runs is looked at right after it', async () => {
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

it('start ends when the workers are disposed of, and leaves nothing at its signal', async () => {
  const others = new PodWorkers({ syncer, podCache: cache, clock });
  const { signal } = new AbortController();
  const removed = vi.spyOn(signal, 'removeEventListener');
  const running = others.start(signal);
  await others[Symbol.asyncDispose]();
  await running;
  expect(removed).toHaveBeenCalledWith('abort', expect.any(Function));
});
