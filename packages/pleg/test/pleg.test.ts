import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { type Logger, noMetrics, silentLogger } from '@node-agent/telemetry';
import { captureLogger } from '@node-agent/telemetry/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  Pleg,
  type PlegComponents,
  PlegError,
  type PlegRuntime,
  PodCache,
  type PodLifecycleEvent,
} from '../src/index.ts';
import { ScriptedRuntime, toStatus, truth } from './kit.ts';

let clock: FakeClock;
let runtime: ScriptedRuntime;
let cache: PodCache;
let pleg: Pleg;
let stop: AbortController;
let ended: Promise<void>;
let told: string[];
let reading: Promise<void>;

function make(of: PlegRuntime, logger: Logger = silentLogger, more: Partial<PlegComponents> = {}): void {
  cache = new PodCache();
  const components = { runtime: of, cache, clock, random: seededRandom(1), logger, metrics: noMetrics, ...more };
  pleg = new Pleg(components);
}

function start(): void {
  ended = pleg.start(stop.signal);
  reading = (async () => {
    for await (const event of pleg.events) told.push(text(event));
  })();
}

function text({ podUid, type, containerId }: PodLifecycleEvent): string {
  return [podUid, type, containerId].filter((part) => part !== undefined).join(' ');
}

/** Returns the pod lifecycle events since the last call of this function. */
function news(): string[] {
  return told.splice(0);
}

/** Returns the runtime calls since the last call of this function. */
function calls(): string[] {
  return runtime.calls.splice(0);
}

beforeEach(() => {
  clock = new FakeClock();
  runtime = new ScriptedRuntime(clock);
  stop = new AbortController();
  told = [];
  make(runtime);
});

afterEach(async () => {
  stop.abort();
  await clock.advance(0);
  await ended;
  await reading;
  expect(clock.pendingTimers).toBe(0);
  expect(cache.waiting).toBe(0);
});

it.each([{ relistPeriodMs: 0 }, { relistPeriodMs: -1 }, { repairPeriodMs: Number.NaN }])(
  'PLEG rejects the options %j with an error that names the option',
  (options) => {
    expect(() => new Pleg({ runtime, cache, clock }, options)).toThrow(
      expect.objectContaining({
        code: 'InvalidOptions',
        message: expect.stringContaining(Object.keys(options)[0] ?? ''),
      }),
    );
  },
);

describe('log of runtime failures', () => {
  it('logs an unavailable runtime once, and its recovery once with the number of failures', async () => {
    const { logger, lines } = captureLogger();
    make(runtime, logger);
    runtime.plan = (call) => (call === 'getPods' ? { fail: new Error('connection refused') } : {});
    start();
    await clock.advance(35_000);
    runtime.plan = () => ({});
    await clock.advance(2_000);
    const told = lines.filter(({ level, message }) => level !== 'debug' && /list/.test(message));
    expect(told.map(({ level, message }) => [level, message])).toEqual([
      ['error', 'Unable to list the pods of the container runtime'],
      ['info', 'The container runtime lists its pods again'],
    ]);
    expect(told[1]?.fields.failures).toBeGreaterThan(30);
  });

  it('logs only once that a runtime does not support events, however often the stream is requested', async () => {
    const { logger, lines } = captureLogger();
    make(runtime, logger);
    runtime.events = 'none';
    start();
    await clock.advance(1_000_000);
    expect(runtime.streams).toBeGreaterThan(2);
    expect(lines.filter(({ level, message }) => level !== 'debug' && /sends no events/.test(message))).toHaveLength(1);
  });
});

describe('PLEG with a runtime without events', () => {
  beforeEach(() => {
    runtime.events = 'none';
  });

  it('PLEG lists pods once a second if the runtime has no events, and reads only changed pods', async () => {
    runtime.set('a', truth({ a1: 'running' }, { s: 'ready' }));
    runtime.set('b', truth({ b1: 'exited' }));
    start();
    await clock.advance(0);
    expect(calls()).toEqual(['getPods', 'getPodStatus a', 'getPodStatus b']);
    expect(news()).toEqual(['a ContainerStarted a1', 'a ContainerStarted s', 'b ContainerDied b1']);
    expect(runtime.names).toEqual(['default/name-a', 'default/name-b']);
    await clock.advance(2000);
    expect(calls()).toEqual(['getPods', 'getPods']);
    runtime.set('a', truth({ a1: 'exited' }, { s: 'ready' }));
    await clock.advance(1000);
    expect(calls()).toEqual(['getPods', 'getPodStatus a']);
    expect(news()).toEqual(['a ContainerDied a1']);
    expect(cache.get('a')?.status.containers[0]?.state).toBe('exited');
  });

  it('P4: runningPods reports which pods of a name have a running container or sandbox', async () => {
    expect(cache.runningPods('name-a', 'default')).toBeUndefined();
    runtime.set('a', truth({ a1: 'running' }, { s: 'ready' }));
    start();
    await clock.advance(0);
    expect(cache.runningPods('name-a', 'default')).toEqual(['a']);
    expect(cache.runningPods('name-b', 'default')).toEqual([]);
    runtime.set('a', truth({ a1: 'exited' }, { s: 'notReady' }));
    await clock.advance(1000);
    expect(cache.runningPods('name-a', 'default')).toEqual([]);
  });

  it('if a list no longer contains a pod, PLEG reports its removal and drops it from the cache without a read', async () => {
    runtime.set('a', truth({ a1: 'running' }));
    start();
    await clock.advance(0);
    runtime.set('a', undefined);
    calls();
    news();
    await clock.advance(1000);
    expect(calls()).toEqual(['getPods']);
    expect(news()).toEqual(['a ContainerDied a1', 'a ContainerRemoved a1']);
    expect(cache.get('a')).toBeUndefined();
  });

  it.each([
    ['another container', truth({ a1: 'running' })],
    ['no other container', truth({})],
  ])(
    'a container that is listed but has no status is reported once and not with each list: pod with %s',
    async (_name, status) => {
      const listing = truth({ ...Object.fromEntries(status.containers), zombie: 'exited' });
      const listedRuntime: PlegRuntime = {
        getPods: (signal) => runtime.getPods(signal),
        getPodStatus: async (uid) => {
          runtime.calls.push(`getPodStatus ${uid}`);
          return toStatus(uid, status, clock.monotonic());
        },
      };
      make(listedRuntime);
      runtime.set('a', listing);
      start();
      await clock.advance(0);
      expect(news()).toContain('a ContainerDied zombie');
      calls();
      await clock.advance(10_000);
      expect(news()).toEqual([]);
      expect(calls().filter((call) => call === 'getPods')).toHaveLength(10);
      runtime.set('a', undefined);
      await clock.advance(2000);
      expect(pleg.podCount).toBe(0);
      runtime.set('a', truth({ a2: 'exited' }));
      news();
      calls();
      await clock.advance(1000);
      expect(calls()).toEqual(['getPods', 'getPodStatus a']);
    },
  );

  it('K4: PLEG forgets a removed pod, so that a later pod with the same UID counts as new', async () => {
    runtime.set('a', truth({ a1: 'running' }));
    start();
    await clock.advance(0);
    runtime.set('a', undefined);
    await clock.advance(1000);
    news();
    runtime.set('a', truth({ a2: 'running' }));
    await clock.advance(1000);
    expect(news()).toEqual(['a ContainerStarted a2']);
  });

  it('PLEG detects by a single read, without a list, that a pod no longer exists', async () => {
    runtime.set('a', truth({ a1: 'running' }));
    start();
    await clock.advance(100);
    runtime.set('a', undefined);
    pleg.hint('a');
    await clock.advance(0);
    expect([cache.get('a'), cache.hasSeen('a')]).toEqual([undefined, true]);
  });

  it('a created container causes a read of its pod but no lifecycle event', async () => {
    start();
    await clock.advance(0);
    runtime.set('a', truth({ a1: 'created' }));
    await clock.advance(1000);
    expect(cache.get('a')?.status.containers[0]?.state).toBe('created');
    expect(news()).toEqual([]);
  });

  it('PLEG requests the event stream again after the repair period, in case the runtime was replaced', async () => {
    start();
    await clock.advance(300_000);
    expect(runtime.streams).toBe(1);
    await clock.advance(150_000);
    expect(runtime.streams).toBe(2);
  });

  it("the cached status of a terminated pod keeps the pod's IPs", async () => {
    runtime.set('a', truth({ a1: 'running' }, { s: 'ready' }));
    start();
    await clock.advance(0);
    runtime.set('a', truth({ a1: 'exited' }, { s: 'notReady' }));
    await clock.advance(1000);
    expect(cache.get('a')?.status).toMatchObject({ ips: ['10.0.0.1'], sandboxes: [{ state: 'notReady' }] });
  });
});

describe('PLEG with a runtime with events', () => {
  /** Waits until PLEG relies on the event stream. */
  async function rely(): Promise<void> {
    start();
    await clock.advance(1000);
    calls();
    news();
  }

  it('PLEG lists only once per repair period after a list during which the event stream was open', async () => {
    start();
    await clock.advance(999);
    expect(calls()).toEqual(['getPods']);
    await clock.advance(300_000);
    expect(calls()).toEqual(['getPods']);
    await clock.advance(1);
    expect(calls()).toEqual(['getPods']);
    await clock.advance(299_999);
    expect(calls()).toEqual([]);
  });

  it('a runtime event causes an immediate read of its pod and nothing else', async () => {
    await rely();
    runtime.set('a', truth({ a1: 'running' }));
    await clock.advance(0);
    expect(calls()).toEqual(['getPodStatus a']);
    expect(news()).toEqual(['a ContainerStarted a1']);
  });

  it('a burst of runtime events causes one read', async () => {
    await rely();
    runtime.set('a', truth({}, { s: 'ready' }));
    await clock.settle();
    runtime.set('a', truth({ a1: 'running' }, { s: 'ready' }));
    pleg.hint('a');
    await clock.advance(0);
    expect(calls()).toEqual(['getPodStatus a']);
    expect(news()).toEqual(['a ContainerStarted a1', 'a ContainerStarted s']);
  });

  it('a read after creation and removal events is delayed, because another event may follow', async () => {
    await rely();
    runtime.set('a', truth({ a1: 'running' }, { s: 'ready' }), true);
    for (const kind of ['created', 'started', 'deleted'] as const) runtime.say('a', kind);
    await clock.advance(999);
    expect(calls()).toEqual([]);
    await clock.advance(1);
    expect(calls()).toEqual(['getPodStatus a']);
    expect(news()).toEqual(['a ContainerStarted a1', 'a ContainerStarted s']);
    runtime.say('a', 'started');
    await clock.advance(50);
    pleg.hint('a');
    await clock.advance(2000);
    expect(calls()).toEqual(['getPodStatus a']);
  });

  it.each([['stopped'], [undefined]] as const)(
    'a pod is read immediately after an event of kind %s, even if reads for other events are delayed',
    async (kind) => {
      await rely();
      runtime.say('a', 'started');
      await clock.advance(10);
      runtime.say('a', kind);
      await clock.advance(0);
      expect(calls()).toEqual(['getPodStatus a']);
      await clock.advance(2000);
      expect(calls()).toEqual([]);
    },
  );

  it('a stop event during a read causes another read right after it; a start event causes a delayed read', async () => {
    await rely();
    runtime.plan = () => ({ beforeMs: 10, afterMs: 10 });
    for (const [kinds, waitMs] of [
      [['started'], 985],
      [['started', 'stopped'], 0],
      [['stopped', 'started'], 0],
    ] as const) {
      pleg.hint('a');
      await clock.advance(5);
      for (const kind of kinds) runtime.say('a', kind);
      await clock.advance(14);
      calls();
      await clock.advance(waitMs);
      expect(calls()).toEqual([]);
      await clock.advance(1);
      expect(calls()).toEqual(['getPodStatus a']);
      await clock.advance(1000);
      expect(calls()).toEqual([]);
    }
  });

  it('an event whose change the last read already shows causes no read; any other event does', async () => {
    await rely();
    runtime.set('a', truth({ a1: 'running' }, { s: 'ready' }), true);
    pleg.hint('a');
    await clock.advance(0);
    calls();
    runtime.say('a', 'created', 's');
    runtime.say('a', 'created', 'a1');
    runtime.say('a', 'started', 'a1');
    await clock.advance(2000);
    expect(calls()).toEqual([]);
    runtime.say('a', 'created', 'a2');
    runtime.say('a', 'started', 'a2');
    await clock.advance(1000);
    expect(calls()).toEqual(['getPodStatus a']);
    runtime.say('a', 'deleted', 'a2');
    runtime.say('gone', 'deleted', 'g1');
    await clock.advance(2000);
    expect(calls()).toEqual([]);
    runtime.say('a', 'deleted', 'a1');
    await clock.advance(2000);
    expect(calls()).toEqual(['getPodStatus a']);
  });

  it('an event that arrives during a read causes no further read if the result of that read shows its change', async () => {
    await rely();
    runtime.plan = () => ({ beforeMs: 10, afterMs: 10 });
    runtime.set('a', truth({ a1: 'running' }, { s: 'ready' }), true);
    pleg.hint('a');
    await clock.advance(15);
    expect(calls()).toEqual(['getPodStatus a']);
    runtime.say('a', 'started', 'a1');
    await clock.advance(2000);
    expect(calls()).toEqual([]);
  });

  it('an event causes a read without waiting for the back-off of a failed read, and many events do not delay the read', async () => {
    await rely();
    runtime.plan = (call) => (call === 'getPodStatus' ? { fail: new Error('down') } : {});
    runtime.say('a');
    await clock.advance(5);
    calls();
    const timers: number[] = [];
    for (let i = 0; i < 5; i++) {
      runtime.say('a');
      await clock.settle();
      timers.push(clock.pendingTimers);
    }
    expect(new Set(timers).size).toBe(1);
    await clock.advance(0);
    expect(calls()).toEqual(['getPodStatus a']);
  });

  it('events before a read starts share one read, and events during a read cause one more', async () => {
    await rely();
    runtime.plan = () => ({ beforeMs: 10, afterMs: 10 });
    for (let i = 0; i < 5; i++) runtime.set('a', truth({ a1: 'running' }));
    await clock.advance(5);
    expect(calls()).toEqual(['getPodStatus a']);
    runtime.set('a', truth({ a1: 'exited' }));
    runtime.say('a');
    await clock.advance(100);
    expect(calls()).toEqual(['getPodStatus a']);
    expect(news()).toEqual(['a ContainerDied a1']);
  });

  it('an event without a change of state causes no lifecycle event', async () => {
    await rely();
    runtime.set('a', truth({ a1: 'running' }));
    await clock.advance(0);
    news();
    runtime.say('a');
    await clock.advance(0);
    expect(calls()).toEqual(['getPodStatus a', 'getPodStatus a']);
    expect(news()).toEqual([]);
  });

  it('if an event was lost, the next repair list detects the change', async () => {
    await rely();
    runtime.set('a', truth({ a1: 'exited' }), true);
    await clock.advance(299_999);
    expect(news()).toEqual([]);
    await clock.advance(1);
    expect(news()).toEqual(['a ContainerDied a1']);
  });

  it('PLEG calls onStreamLost once when it loses a stream that it relied on', async () => {
    let losses = 0;
    make(runtime, undefined, { onStreamLost: () => void losses++ });
    await rely();
    runtime.cut();
    await clock.advance(0);
    runtime.events = 'none';
    await clock.advance(5000);
    expect(losses).toBe(1);
  });

  it('a lost stream causes an immediate list, and then a list every second until the stream is open again', async () => {
    await rely();
    runtime.set('a', truth({ a1: 'exited' }), true);
    runtime.cut();
    await clock.advance(0);
    expect(calls()).toEqual(['getPods', 'getPodStatus a']);
    expect(news()).toEqual(['a ContainerDied a1']);
    expect(runtime.streaming).toBe(false);
    runtime.events = 'none';
    await clock.advance(5000);
    expect(calls()).toEqual(Array(5).fill('getPods'));
    runtime.events = 'on';
    await clock.advance(500_000);
    expect(runtime.streaming).toBe(true);
    calls();
    await clock.advance(200_000);
    expect(calls().length).toBeLessThanOrEqual(1);
  });

  it('a stream that ends immediately is reopened with a pause', async () => {
    const ending: PlegRuntime = {
      getPods: (signal) => runtime.getPods(signal),
      getPodStatus: (uid, name, namespace, signal) => runtime.getPodStatus(uid, name, namespace, signal),
      containerEvents: () => {
        runtime.streams++;
        return (async function* () {})();
      },
    };
    make(ending);
    start();
    await clock.advance(60_000);
    expect(runtime.streams).toBeLessThan(8);
    expect(calls().length).toBeGreaterThan(55);
  });

  it('a failed read is retried, and PodSync is emitted when the retry succeeds', async () => {
    await rely();
    runtime.plan = (call) => (call === 'getPodStatus' ? { fail: new Error('down') } : {});
    runtime.set('a', truth({ a1: 'running' }));
    await clock.advance(0);
    expect(cache.get('a')).toMatchObject({ error: new Error('down') });
    expect(news()).toEqual([]);
    runtime.plan = () => ({});
    await clock.advance(1500);
    expect(cache.get('a')?.error).toBeUndefined();
    expect(news()).toEqual(['a ContainerStarted a1']);
    runtime.plan = (call) => (call === 'getPodStatus' ? { fail: new Error('down') } : {});
    pleg.hint('a');
    await clock.advance(0);
    runtime.plan = () => ({});
    await clock.advance(1500);
    expect(news()).toEqual(['a PodSync']);
  });

  it('a read that keeps failing is retried with growing, jittered back-off, without delaying other pods', async () => {
    await rely();
    runtime.plan = (call, uid) => (call === 'getPodStatus' && uid === 'a' ? { fail: new Error('down') } : {});
    runtime.set('a', truth({ a1: 'running' }));
    await clock.advance(60_000);
    const tries = calls().filter((call) => call === 'getPodStatus a').length;
    // One attempt per second would make 60 attempts. With back-off, the interval grows to between 3 s and 4.5 s.
    expect(tries).toBeGreaterThan(13);
    expect(tries).toBeLessThan(23);
    runtime.set('b', truth({ b1: 'running' }));
    await clock.advance(0);
    expect(news()).toEqual(['b ContainerStarted b1']);
  });

  it('K2: failed reads are retried immediately when the runtime has recovered', async () => {
    await rely();
    for (const uid of ['a', 'b']) runtime.set(uid, truth({ [`${uid}1`]: 'running' }));
    await clock.advance(0);
    runtime.plan = () => ({ fail: new Error('down') });
    for (const uid of ['a', 'b']) runtime.say(uid);
    await clock.advance(60_000);
    calls();
    runtime.plan = () => ({});
    await clock.advance(1000);
    expect([cache.get('a')?.error, cache.get('b')?.error]).toEqual([undefined, undefined]);
  });
});

describe('callers that wait for the cache', () => {
  it('the first list resolves getNewerThan for a pod that does not exist', async () => {
    runtime.plan = () => ({ afterMs: 500 });
    start();
    const asked = cache.getNewerThan('x', Number.NEGATIVE_INFINITY, stop.signal);
    let done = false;
    void asked.then(() => {
      done = true;
    });
    await clock.advance(499);
    expect(done).toBe(false);
    await clock.advance(1);
    expect(await asked).toMatchObject({ uid: 'x', containers: [], sandboxes: [] });
  });

  it('a caller of getNewerThan does not wait for the next list, because the pod is read', async () => {
    runtime.set('a', truth({ a1: 'running' }));
    start();
    await clock.advance(1500);
    calls();
    const asked = cache.getNewerThan('a', clock.monotonic(), stop.signal);
    await clock.advance(1);
    expect((await asked).observedAtMs).toBe(1501);
    expect(calls()).toEqual(['getPodStatus a']);
  });

  it("several callers that wait for a newer status of a pod share one read of the pod's status", async () => {
    start();
    await clock.advance(1500);
    calls();
    const asked = [1, 2, 3].map(() => cache.getNewerThan('a', 1499, stop.signal));
    await clock.advance(0);
    expect(await Promise.all(asked)).toHaveLength(3);
    expect(calls()).toEqual(['getPodStatus a']);
  });

  it('a read that started before the requested time does not satisfy a caller', async () => {
    start();
    await clock.advance(1500);
    runtime.plan = () => ({ afterMs: 100 });
    runtime.set('a', truth({ a1: 'running' }));
    await clock.advance(50);
    runtime.set('a', truth({ a1: 'exited' }), true);
    const status = cache.getNewerThan('a', clock.monotonic(), stop.signal);
    await clock.advance(200);
    expect((await status).containers[0]?.state).toBe('exited');
  });

  it('getNewerThan throws the error of the read', async () => {
    start();
    await clock.advance(1500);
    runtime.plan = () => ({ fail: new Error('down') });
    const asked = cache.getNewerThan('a', 1400, stop.signal);
    await Promise.all([expect(asked).rejects.toThrow('down'), clock.advance(0)]);
    runtime.plan = () => ({});
    const again = cache.getNewerThan('a', 1400, stop.signal);
    await clock.advance(0);
    expect(await again).toMatchObject({ containers: [] });
  });
});

describe('overlapping reads and lists', () => {
  it('a list that is older than a read does not replace the result of the read', async () => {
    runtime.events = 'none';
    start();
    await clock.advance(500);
    // The list reads the state immediately but returns late. The status read in between shows a newer state.
    runtime.plan = (call) => (call === 'getPods' ? { afterMs: 400 } : {});
    await clock.advance(600);
    runtime.set('a', truth({ a1: 'running' }), true);
    pleg.hint('a');
    await clock.advance(100);
    expect(news()).toEqual(['a ContainerStarted a1']);
    await clock.advance(300);
    expect(news()).toEqual([]);
    expect(cache.get('a')?.status.containers).toHaveLength(1);
  });

  it('a read that is older than a list is followed by another read', async () => {
    runtime.events = 'none';
    runtime.set('a', truth({ a1: 'running' }));
    start();
    await clock.advance(900);
    news();
    // The read gets its status immediately, but returns only after the list has returned.
    runtime.plan = (call) => (call === 'getPodStatus' ? { afterMs: 400 } : {});
    pleg.hint('a');
    await clock.advance(50);
    runtime.set('a', truth({ a1: 'exited' }), true);
    await clock.advance(250);
    expect(cache.get('a')?.status.containers[0]?.state).toBe('running');
    expect(news()).toEqual([]);
    await clock.advance(600);
    expect(cache.get('a')?.status.containers[0]?.state).toBe('exited');
    expect(news()).toEqual(['a ContainerDied a1']);
  });

  it('a list that overlaps a read and may be newer causes another read immediately', async () => {
    runtime.set('a', truth({ a1: 'running' }));
    start();
    await clock.advance(300_999);
    news();
    runtime.plan = (call) => (call === 'getPods' ? { beforeMs: 300, afterMs: 300 } : {});
    await clock.advance(101);
    runtime.set('a', truth({ a1: 'running', a2: 'running' }));
    await clock.advance(100);
    expect(news()).toEqual(['a ContainerStarted a2']);
    runtime.set('a', truth({ a1: 'running', a2: 'exited' }), true);
    await clock.advance(400);
    expect(news()).toEqual(['a ContainerDied a2']);
  });

  it('a pod that a read confirmed while an overlapping list missed it is read again and stays in the cache', async () => {
    runtime.set('a', truth({ a1: 'running' }));
    start();
    await clock.advance(300_999);
    news();
    runtime.plan = (call) => (call === 'getPods' ? { beforeMs: 20 } : {});
    await clock.advance(11);
    runtime.say('a');
    await clock.advance(5);
    runtime.set('a', undefined, true);
    await clock.advance(5);
    expect(news()).toEqual(['a ContainerDied a1', 'a ContainerRemoved a1']);
    expect(cache.get('a')).toBeUndefined();
  });

  it('an older read does not restore a pod that a list no longer contains', async () => {
    runtime.events = 'none';
    runtime.set('a', truth({ a1: 'running' }));
    start();
    await clock.advance(900);
    news();
    runtime.plan = (call) => (call === 'getPodStatus' ? { afterMs: 400 } : {});
    pleg.hint('a');
    await clock.advance(50);
    runtime.set('a', undefined, true);
    await clock.advance(800);
    expect(news()).toEqual(['a ContainerDied a1', 'a ContainerRemoved a1']);
    expect(cache.get('a')).toBeUndefined();
  });

  it('a slow read of one pod delays neither reads of other pods nor lists', async () => {
    runtime.events = 'none';
    runtime.plan = (_call, uid) => (uid === 'slow' ? { hang: true } : {});
    runtime.set('slow', truth({ s: 'running' }));
    runtime.set('a', truth({ a1: 'running' }));
    start();
    await clock.advance(5000);
    expect(news()).toEqual(['a ContainerStarted a1']);
    expect(calls().filter((call) => call === 'getPods')).toHaveLength(6);
    expect(pleg.healthy()).toBeUndefined();
  });

  it('concurrent reads are limited in total, and to one per pod', async () => {
    runtime.events = 'none';
    runtime.plan = (call) => (call === 'getPodStatus' ? { afterMs: 100 } : {});
    for (let i = 0; i < 35; i++) runtime.set(`p${i}`, truth({ [`c${i}`]: 'running' }));
    start();
    for (let i = 0; i < 40; i++) {
      pleg.hint('p0');
      await clock.advance(10);
      expect(runtime.active.get('p0') ?? 0).toBeLessThanOrEqual(1);
    }
    expect(runtime.mostActive).toBe(10);
    expect(news()).toHaveLength(35);
  });
});

describe('event delivery', () => {
  it('a slow reader gets every event exactly once', async () => {
    runtime.events = 'none';
    ended = pleg.start(stop.signal);
    const events = pleg.events[Symbol.asyncIterator]();
    for (let i = 0; i < 2000; i++) {
      runtime.set('a', truth({ [`c${i % 3}`]: i % 2 === 0 ? 'running' : 'exited' }));
      await clock.advance(1000);
    }
    stop.abort();
    await ended;
    const all: string[] = [];
    for (let next = await events.next(); !next.done; next = await events.next()) all.push(text(next.value));
    expect(new Set(all).size).toBe(all.length);
    expect(all.sort()).toEqual(
      [0, 1, 2]
        .flatMap((i) => [`a ContainerDied c${i}`, `a ContainerRemoved c${i}`, `a ContainerStarted c${i}`])
        .sort(),
    );
    reading = Promise.resolve();
  });

  it("the cache already shows an event's state when the event is delivered", async () => {
    runtime.events = 'none';
    const shown: (string | undefined)[] = [];
    ended = pleg.start(stop.signal);
    reading = (async () => {
      for await (const { podUid } of pleg.events) shown.push(cache.get(podUid)?.status.containers[0]?.state);
    })();
    for (const state of ['running', 'exited'] as const) {
      runtime.set('a', truth({ c: state }));
      await clock.advance(1000);
    }
    expect(shown).toEqual(['running', 'exited']);
  });
});

describe('healthy()', () => {
  it('healthy reports an error before the first successful list', async () => {
    runtime.plan = () => ({ fail: new Error('down') });
    start();
    await clock.advance(10_000);
    expect(pleg.healthy()).toBe('pleg has yet to be successful');
    runtime.plan = () => ({});
    await clock.advance(1000);
    expect(pleg.healthy()).toBeUndefined();
  });

  it('healthy reports an error after three minutes without a response, and recovers with the next list', async () => {
    runtime.events = 'none';
    start();
    await clock.advance(0);
    runtime.plan = () => ({ fail: new Error('down') });
    await clock.advance(180_000);
    expect(pleg.healthy()).toBeUndefined();
    await clock.advance(500);
    expect(pleg.healthy()).toBe('pleg was last seen active 3m0.5s ago; threshold is 3m0s');
    runtime.plan = () => ({});
    await clock.advance(1000);
    expect(pleg.healthy()).toBeUndefined();
  });

  it('W6: PLEG stays healthy while lists succeed, even if reading one pod takes long', async () => {
    runtime.events = 'none';
    runtime.pods.set('a', truth({ c: 'running' }));
    runtime.plan = (call) => (call === 'getPodStatus' ? { afterMs: 200_500 } : {});
    start();
    await clock.advance(200_499);
    expect([cache.get('a'), pleg.healthy()]).toEqual([undefined, undefined]);
    await clock.advance(1);
    expect(cache.get('a')).toBeDefined();
    expect(pleg.healthy()).toBeUndefined();
  });

  it('the read of a single pod counts as activity for the health of PLEG', async () => {
    const lastSeen: number[] = [];
    const gauge = ({ name }: { readonly name: string }) => ({
      set: (_labels: object, value: number) => void (name === 'kubelet_pleg_last_seen_seconds' && lastSeen.push(value)),
    });
    cache = new PodCache();
    const components = { runtime, cache, clock, random: seededRandom(1), logger: silentLogger };
    pleg = new Pleg({ ...components, metrics: { ...noMetrics, gauge } });
    start();
    await clock.advance(200_000);
    pleg.hint('a');
    await clock.advance(1);
    expect(pleg.healthy()).toBeUndefined();
    expect(lastSeen.at(-1)).toBe(Math.floor((clock.now() - 1) / 1000));
  });

  it('PLEG stays healthy between two repair lists, and if the stream is lost after that', async () => {
    start();
    await clock.advance(299_000);
    expect(pleg.healthy()).toBeUndefined();
    runtime.plan = () => ({ fail: new Error('down') });
    runtime.cut();
    await clock.advance(1000);
    expect(pleg.healthy()).toBeUndefined();
    await clock.advance(180_000);
    expect(pleg.healthy()).toContain('pleg was last seen active');
  });

  it('if reading a pod fails between two repair lists, PLEG lists all pods within a second', async () => {
    start();
    await clock.advance(10_000);
    calls();
    runtime.plan = () => ({ fail: new Error('down') });
    runtime.say('a');
    await clock.advance(1000);
    expect(calls()).toContain('getPods');
  });
});

describe('start and stop', () => {
  it('requests to PLEG before its start are served after the start', async () => {
    pleg.hint('a');
    const asked = cache.getNewerThan('b', 5, stop.signal);
    await clock.advance(100);
    expect(calls()).toEqual([]);
    start();
    await clock.advance(0);
    expect(calls()).toEqual(expect.arrayContaining(['getPodStatus a', 'getPodStatus b', 'getPods']));
    await asked;
  });

  it('PLEG stops even if runtime calls hang', async () => {
    runtime.plan = () => ({ hang: true });
    pleg.hint('a');
    start();
    await clock.advance(100);
    await pleg[Symbol.asyncDispose]();
    await ended;
    pleg.hint('b');
    await clock.advance(1000);
    expect(calls()).toEqual(expect.not.arrayContaining(['getPodStatus b']));
  });

  it('PLEG throws if it is started twice', async () => {
    start();
    await expect(pleg.start(stop.signal)).rejects.toBeInstanceOf(PlegError);
  });
});

it("events contain the pod's name, and the last status of a container that died and was removed between two lists", async () => {
  const seen: PodLifecycleEvent[] = [];
  runtime.events = 'none';
  ended = pleg.start(stop.signal);
  reading = (async () => {
    for await (const event of pleg.events) seen.push(event);
  })();
  runtime.set('a', truth({ a1: 'running', a2: 'running' }));
  await clock.advance(1000);
  expect(seen).toContainEqual({
    podUid: 'a',
    podName: 'name-a',
    podNamespace: 'default',
    type: 'ContainerStarted',
    containerId: 'a1',
  });
  runtime.set('a', truth({ a2: 'running' }));
  await clock.advance(1000);
  const death = seen.find(({ type }) => type === 'ContainerDied');
  expect(death).toMatchObject({ containerId: 'a1', podName: 'name-a', lastStatus: { id: 'a1', state: 'running' } });
  expect(seen.find(({ type }) => type === 'ContainerRemoved')).not.toHaveProperty('lastStatus');
});
