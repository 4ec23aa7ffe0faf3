import { seededRandom, sleep, withTimeout } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import type { HttpGetRequest, HttpGetResult } from '@node-agent/pod-net';
import type { ContainerStatus, Pod, PodStatus, Probe } from '@node-agent/pod-spec';
import { MemoryEventRecorder, MetricsRegistry, silentLogger } from '@node-agent/telemetry';
import { describe, expect, test, vi } from 'vitest';
import type { ProberOptions } from '../src/components.ts';
import { Prober } from '../src/prober.ts';
import type { ProbeUpdate } from '../src/types.ts';
import { container, httpProbe, podOf, running, statusOf } from './builders.ts';

const OK: HttpGetResult = { kind: 'answer', status: 200, body: 'fine' };
const BAD: HttpGetResult = { kind: 'answer', status: 500, body: 'secret' };

/** A node whose pods respond to probes as the test specifies. */
class Node implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly registry = new MetricsRegistry();
  readonly recorder = new MemoryEventRecorder(() => this.clock.now());
  readonly statuses = new Map<string, PodStatus>();
  readonly updates: ProbeUpdate[] = [];
  /** Resolves when the prober has stopped and all its updates have been collected. */
  readonly told: Promise<void>;
  /** Times at which each address was probed, in ms since the start. */
  readonly asked: { readonly atMs: number; readonly host: string }[] = [];
  answer: (host: string) => HttpGetResult | Promise<HttpGetResult> = () => OK;
  readonly prober: Prober;
  readonly #stop = new AbortController();
  #ended: Promise<void> | undefined;

  constructor(options: ProberOptions = { earlyTries: false }) {
    this.prober = new Prober(
      {
        ...{ clock: this.clock, random: seededRandom(7), logger: silentLogger, metrics: this.registry },
        ...{ recorder: this.recorder, statuses: { getPodStatus: (uid) => this.statuses.get(uid) } },
        ports: {
          http: (request, timeoutMs, signal) => this.#ask(request, timeoutMs, signal),
        },
      },
      options,
    );
    this.told = collect(this.prober.updates, this.updates);
  }

  async #ask({ host }: HttpGetRequest, timeoutMs: number, signal: AbortSignal): Promise<HttpGetResult> {
    this.asked.push({ atMs: this.clock.monotonic(), host });
    try {
      return await withTimeout(this.clock, timeoutMs, async () => await this.answer(host), signal);
    } catch {
      return { kind: 'fault', message: 'context deadline exceeded' };
    }
  }

  /** Starts the prober and waits until first probes are no longer spread. */
  async start(settledMs = 60_000): Promise<void> {
    this.#ended = this.prober.start(this.#stop.signal);
    await this.clock.advance(settledMs);
  }

  /** Adds a pod whose container runs from now on. */
  add(uid: string, probes: Record<string, Probe>, fields: Partial<ContainerStatus> = {}, podIP = '10.0.0.5'): Pod {
    const pod = podOf(uid, [container('web', probes)]);
    this.prober.addPod(pod);
    this.show(pod, fields, podIP);
    return pod;
  }

  show(pod: Pod, fields: Partial<ContainerStatus> = {}, podIP = '10.0.0.5'): void {
    const startedAt = new Date(this.clock.now()).toISOString();
    const web = running('web', `c-${pod.metadata.uid}`, { state: { running: { startedAt } }, ...fields });
    this.statuses.set(pod.metadata.uid, statusOf([web], { podIP }));
    this.prober.statusChanged(pod.metadata.uid);
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error('stop'));
    await this.#ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

async function collect<T>(values: AsyncIterable<T>, into: T[]): Promise<void> {
  for await (const value of values) into.push(value);
}

test('iteration over probe updates ends when the prober has stopped', async () => {
  const node = new Node();
  await node.start();
  node.add('1', { readinessProbe: httpProbe });
  await node.clock.advance(0);
  await node.stop();
  const soon = new Promise<string>((resolve) => setImmediate(resolve, 'still waits'));
  expect(await Promise.race([node.told.then(() => 'came out'), soon])).toBe('came out');
  expect(node.updates.map(({ result }) => result)).toEqual(['failure', 'success']);
});

describe('readiness probe', () => {
  test('R2: a readiness probe restarts for a container that had terminated and was restarted with all containers of its pod', async () => {
    await using node = new Node();
    await node.start();
    const pod = node.add('1', { readinessProbe: httpProbe });
    const never: Pod = { ...pod, spec: { ...pod.spec, restartPolicy: 'Never' } };
    node.prober.removePod('1');
    node.prober.addPod(never);
    node.show(never, { state: { terminated: { exitCode: 0 } } });
    await node.clock.advance(1000);
    expect(node.prober.size).toBe(0);
    node.prober.addPod(never);
    expect(node.prober.size).toBe(0);

    const askedBefore = node.asked.length;
    node.show(never, { containerID: 'containerd://c-2' });
    node.prober.addPod(never);
    await node.clock.advance(2000);
    expect(node.asked.length).toBeGreaterThan(askedBefore);
    expect(node.prober.results.readiness('c-2')).toBe('success');
  });

  test('a readiness probe runs as soon as its container runs, then every period, and reports changes', async () => {
    await using node = new Node();
    await node.start();
    node.add('1', { readinessProbe: httpProbe });
    await node.clock.advance(3500);
    expect(node.asked.map(({ atMs }) => atMs)).toEqual([60_000, 61_000, 62_000, 63_000]);
    const update = { podUid: '1', containerId: 'c-1', kind: 'readiness' };
    expect(node.updates).toEqual(['failure', 'success'].map((result) => ({ ...update, result })));
    expect(node.prober.results.readiness('c-1')).toBe('success');
  });

  test('R2: a readiness probe fails after failureThreshold failures, with events that omit the response body, and recovers', async () => {
    await using node = new Node();
    await node.start();
    const pod = node.add('1', { readinessProbe: httpProbe });
    await node.clock.advance(0);
    node.answer = () => BAD;
    await node.clock.advance(2999);
    expect(node.prober.results.readiness('c-1')).toBe('success');
    await node.clock.advance(1);
    expect(node.prober.results.readiness('c-1')).toBe('failure');
    node.answer = () => OK;
    await node.clock.advance(1000);
    expect(node.updates.map(({ result }) => result)).toEqual(['failure', 'success', 'failure', 'success']);
    const [event] = node.recorder.eventsOf({ kind: 'Pod', name: 'pod-1', namespace: 'default', uid: '1' });
    expect(event).toMatchObject({
      type: 'Warning',
      reason: 'Unhealthy',
      message: 'Readiness probe failed: HTTP probe failed with statuscode: 500',
      count: 3,
      object: { fieldPath: 'spec.containers{web}' },
    });
    expect(pod.metadata.uid).toBe('1');
  });

  test('a readiness probe runs immediately when the status of a container that is not ready changes', async () => {
    await using node = new Node();
    await node.start();
    node.answer = () => BAD;
    const pod = node.add('1', { readinessProbe: httpProbe });
    await node.clock.advance(300);
    node.answer = () => OK;
    node.show(pod);
    await node.clock.advance(1100);
    expect(node.asked.map(({ atMs }) => atMs - 60_000)).toEqual([0, 300, 1300]);
  });

  test('a readiness probe runs additional attempts while its container starts; only their successes count', async () => {
    await using node = new Node({});
    await node.start();
    node.answer = () => BAD;
    node.add('1', { readinessProbe: { ...httpProbe, periodSeconds: 10 } });
    await node.clock.advance(500);
    node.answer = () => OK;
    await node.clock.advance(500);
    const early = [0, 25, 50, 75, 100, 125, 156.25, 195.3125];
    const times = node.asked.map(({ atMs }) => atMs - 60_000);
    expect(times.slice(0, early.length)).toEqual(early);
    expect(times.at(-1)).toBeLessThan(600);
    const asked = times.length;
    expect(node.prober.results.readiness('c-1')).toBe('success');
    const [event] = node.recorder.eventsOf({ kind: 'Pod', name: 'pod-1', namespace: 'default', uid: '1' });
    expect(event?.count).toBe(1);
    expect(node.registry.text()).toContain('result="failed"} 1\n');
    await node.clock.advance(10_000);
    expect(node.asked.map(({ atMs }) => atMs - 60_000).slice(asked)).toEqual([10_000]);
  });

  test('R2: a readiness probe runs at its regular times even if an additional attempt hangs then', async () => {
    await using node = new Node({});
    await node.start();
    node.answer = () => new Promise(() => {});
    node.add('1', { readinessProbe: { ...httpProbe, periodSeconds: 2 } }, { ready: true });
    node.prober.results.set({ podUid: '1', containerId: 'c-1', kind: 'readiness', result: 'unknown' });
    await node.clock.advance(4999);
    const times = node.asked.map(({ atMs }) => atMs - 60_000);
    expect(times.filter((atMs) => atMs % 1000 === 0)).toEqual([0, 2000, 4000]);
    // Additional attempts start outside the grid, some time after each regular attempt has timed out after 1 s.
    expect(times.filter((atMs) => atMs % 1000 !== 0)).toEqual([1100, 3300]);
    expect(node.registry.text()).toContain('result="failed"} 2\n');
    await node.clock.advance(1);
    expect(node.registry.text()).toContain('result="failed"} 3\n');
    expect(node.prober.results.readiness('c-1')).toBe('failure');
  });

  test('R2: an additional attempt that is late counts as the regular one, and runs once', async () => {
    await using node = new Node({});
    await node.start();
    node.answer = () => BAD;
    node.add('1', { readinessProbe: { ...httpProbe, periodSeconds: 10 } });
    await node.clock.advance(110);
    const before = node.asked.length;
    const inTime = node.clock.monotonic.bind(node.clock);
    // The clock jumps, as if the process was busy or the machine asleep for 10 s.
    vi.spyOn(node.clock, 'monotonic').mockImplementation(() => inTime() + 10_000);
    await node.clock.advance(100);
    expect(node.asked.length - before).toBe(1);
    expect(node.registry.text()).toContain('result="failed"} 2\n');
  });

  test('R2: an additional attempt that succeeds before the next regular time counts, however slow it was', async () => {
    await using node = new Node({});
    await node.start();
    node.answer = () => BAD;
    node.add('1', { readinessProbe: { ...httpProbe, periodSeconds: 2 } });
    await node.clock.advance(1150);
    node.answer = async () => {
      await sleep(node.clock, 750);
      return OK;
    };
    await node.clock.advance(849);
    expect(node.prober.results.readiness('c-1')).toBe('success');
  });

  test('a readiness probe makes additional attempts only during its first ten periods', async () => {
    await using node = new Node({});
    await node.start();
    node.answer = () => BAD;
    node.add('1', { readinessProbe: httpProbe });
    await node.clock.advance(15_000);
    const times = node.asked.map(({ atMs }) => atMs - 60_000);
    expect(times.filter((atMs) => atMs % 1000 === 0)).toEqual(Array.from({ length: 16 }, (_, index) => index * 1000));
    expect(Math.max(...times.filter((atMs) => atMs % 1000 !== 0))).toBeLessThan(11_000);
    expect(node.registry.text()).toContain('result="failed"} 16\n');
  });

  test('R2: a readiness probe makes no additional attempts after its container was ready once', async () => {
    await using node = new Node({});
    await node.start();
    node.add('1', { readinessProbe: { ...httpProbe, failureThreshold: 1 } });
    await node.clock.advance(500);
    node.answer = () => BAD;
    await node.clock.advance(600);
    expect(node.prober.results.readiness('c-1')).toBe('failure');
    node.answer = () => OK;
    await node.clock.advance(950);
    expect(node.asked.map(({ atMs }) => atMs - 60_000)).toEqual([0, 1000, 2000]);
    expect(node.updates.map(({ result }) => result)).toEqual(['failure', 'success', 'failure', 'success']);
  });

  test('R1: a readiness probe does not run early for a container that started in the future because the clock was set back', async () => {
    await using node = new Node({});
    await node.start();
    node.answer = () => BAD;
    const startedAt = new Date(node.clock.now() + 3_600_000).toISOString();
    node.add('1', { readinessProbe: { ...httpProbe, periodSeconds: 10 } }, { state: { running: { startedAt } } });
    await node.clock.advance(30_000);
    expect(node.asked.length).toBeLessThanOrEqual(4);
    expect(node.registry.text()).toContain(`result="failed"} ${node.asked.length}\n`);
  });

  test('the first probe runs when initialDelaySeconds has passed and not a period later', async () => {
    await using node = new Node();
    await node.start();
    node.add('1', { readinessProbe: { ...httpProbe, periodSeconds: 10, initialDelaySeconds: 3 } });
    await node.clock.advance(20_000);
    expect(node.asked.map(({ atMs }) => atMs - 60_000)).toEqual([3000, 13_000]);
  });

  test('R2: a readiness probe starts from zero for a restarted container', async () => {
    await using node = new Node();
    await node.start();
    const pod = node.add('1', { readinessProbe: httpProbe });
    await node.clock.advance(1000);
    node.answer = () => BAD;
    await node.clock.advance(2000);
    node.show(pod, { containerID: 'test://c2' });
    await node.clock.advance(0);
    expect(node.prober.results.readiness('c-1')).toBeUndefined();
    expect(node.prober.results.readiness('c2')).toBe('failure');
    expect(node.updates.at(-1)).toMatchObject({ containerId: 'c2', result: 'failure' });
  });
});

describe('R1: startup probe', () => {
  const probes = { startupProbe: httpProbe, readinessProbe: httpProbe, livenessProbe: httpProbe };

  test('R1: a startup probe delays the other probes until it succeeds, and then readiness is probed immediately', async () => {
    await using node = new Node();
    await node.start();
    node.answer = () => BAD;
    node.add('1', probes, { started: false });
    await node.clock.advance(1500);
    expect(node.asked.length).toBe(2);
    expect(node.prober.explain('1').map(({ kind, waitsFor }) => [kind, waitsFor])).toEqual([
      ['startup', undefined],
      ['readiness', 'the startup probe'],
      ['liveness', 'the startup probe'],
    ]);
    node.answer = () => OK;
    await node.clock.advance(500);
    expect(node.prober.results.startup('c-1')).toBe('success');
    expect(node.prober.results.readiness('c-1')).toBe('success');
  });

  test('R1: a startup probe runs again for a restarted container, and the other probes wait again', async () => {
    await using node = new Node();
    await node.start();
    const pod = node.add('1', probes, { started: false });
    await node.clock.advance(1500);
    node.answer = () => BAD;
    node.asked.length = 0;
    node.show(pod, { containerID: 'test://c2', started: false });
    await node.clock.advance(0);
    expect(node.asked).toHaveLength(1);
    expect(node.prober.explain('1').map(({ kind, waitsFor }) => [kind, waitsFor])).toEqual([
      ['startup', undefined],
      ['readiness', undefined],
      ['liveness', undefined],
    ]);
    await node.clock.advance(1000);
    expect(node.asked).toHaveLength(2);
    expect(
      node.prober
        .explain('1')
        .map(({ waitsFor }) => waitsFor)
        .slice(1),
    ).toEqual(Array(2).fill('the startup probe'));
  });

  test('R1: a failed startup probe is not repeated until there is a new container', async () => {
    await using node = new Node();
    await node.start();
    node.answer = () => BAD;
    const pod = node.add('1', probes, { started: false });
    await node.clock.advance(10_000);
    expect(node.asked).toHaveLength(3);
    expect(node.prober.results.startup('c-1')).toBe('failure');
    node.show(pod, { containerID: 'test://c2', started: false });
    await node.clock.advance(0);
    expect(node.asked).toHaveLength(4);
  });
});

describe('S6: probes after a kubelet restart', () => {
  test('S6: after a kubelet restart, ready containers stay ready until a probe fails, and first probes are spread over a period', async () => {
    await using node = new Node();
    const startedAt = new Date(node.clock.now() - 600_000).toISOString();
    const pods = Array.from({ length: 200 }, (_, n) =>
      podOf(String(n), [container('web', { readinessProbe: httpProbe })]),
    );
    await node.start(0);
    for (const { metadata } of pods) {
      const web = running('web', `c-${metadata.uid}`, { ready: true, state: { running: { startedAt } } });
      node.statuses.set(metadata.uid, statusOf([web]));
    }
    for (const pod of pods) {
      node.prober.addPod(pod);
      node.prober.statusChanged(pod.metadata.uid);
    }
    node.answer = () => BAD;
    await node.clock.advance(999);
    expect(node.updates).toEqual([]);
    expect(node.asked).toHaveLength(200);
    const tenths = Array.from(
      { length: 10 },
      (_, n) => node.asked.filter(({ atMs }) => Math.floor(atMs / 100) === n).length,
    );
    expect(Math.min(...tenths)).toBeGreaterThan(8);
    await node.clock.advance(2000);
    expect(node.updates).toHaveLength(200);
    expect(node.updates.every(({ result }) => result === 'failure')).toBe(true);
  });
});

describe('probe times of many probes, in slots', () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, n) => podOf(String(n), [container('web', { readinessProbe: httpProbe })]));
  const probed = async (node: Node, count: number): Promise<void> => {
    const startedAt = new Date(node.clock.now() - 600_000).toISOString();
    await node.start(0);
    for (const pod of many(count)) {
      const web = running('web', `c-${pod.metadata.uid}`, { ready: true, state: { running: { startedAt } } });
      node.statuses.set(pod.metadata.uid, statusOf([web]));
      node.prober.addPod(pod);
    }
    await node.clock.advance(999.5);
  };

  test('200 probes per second cause ten wake-ups of the process per second, and each keeps its period', async () => {
    await using node = new Node();
    await probed(node, 200);
    node.asked.length = 0;
    await node.clock.advance(3000);
    expect(node.asked).toHaveLength(600);
    expect(new Set(node.asked.map(({ atMs }) => atMs)).size).toBeLessThanOrEqual(30);
    const rounds = [0, 1, 2].map((n) => node.asked.slice(200 * n, 200 * (n + 1)).map(({ atMs }) => atMs - 1000 * n));
    expect(rounds[1]).toEqual(rounds[0]);
    expect(rounds[2]).toEqual(rounds[0]);
  });

  test('10,000 probes are spread evenly over the milliseconds', async () => {
    await using node = new Node();
    await probed(node, 10_000);
    node.asked.length = 0;
    await node.clock.advance(1000);
    expect(node.asked).toHaveLength(10_000);
    const perMs = new Map<number, number>();
    for (const { atMs } of node.asked) perMs.set(Math.floor(atMs), (perMs.get(Math.floor(atMs)) ?? 0) + 1);
    // Slots become narrower as probes are added, and earlier probes keep theirs. Slots of different widths may start at
    // the same instant, each with up to 25 probes.
    expect(Math.max(...perMs.values())).toBeLessThan(110);
  });
});

describe('S6: probes of a static pod after a kubelet restart', () => {
  /** Adds another pod, whose probe is scheduled first: the first scheduled probe always runs immediately. */
  const notFirst = (node: Node): void =>
    node.prober.addPod(podOf('0', [container('web', { livenessProbe: httpProbe })]));

  test('S6: readiness of a static pod with unknown state is probed immediately after a kubelet restart, and then regularly', async () => {
    await using node = new Node();
    await node.start(0);
    const web = container('web', { readinessProbe: { ...httpProbe, periodSeconds: 10 } });
    const pod = podOf('1', [web]);
    const annotations = { 'kubernetes.io/config.source': 'file' };
    node.statuses.set('1', statusOf([running('web', 'c1')]));
    node.prober.addPod({ ...pod, metadata: { ...pod.metadata, annotations } });
    await node.clock.advance(0);
    expect(node.prober.results.readiness('c1')).toBe('success');
    await node.clock.advance(20_000);
    expect(node.asked).toHaveLength(3);
    expect((node.asked[2]?.atMs ?? 0) - (node.asked[1]?.atMs ?? 0)).toBeCloseTo(10_000);
  });

  test.each<[string, Record<string, string>, number]>([
    ['startup of a static pod is probed immediately, and then readiness', { 'kubernetes.io/config.source': 'file' }, 2],
    ['an API pod is not probed immediately, because its API object has the state', {}, 0],
  ])('S6: after a kubelet restart, %s', async (_title, annotations, asked) => {
    await using node = new Node();
    await node.start(0);
    notFirst(node);
    const startupProbe = { ...httpProbe, periodSeconds: 20 };
    const pod = podOf('1', [container('web', { startupProbe, readinessProbe: { ...httpProbe, periodSeconds: 30 } })]);
    const state = { running: { startedAt: new Date(node.clock.now() - 600_000).toISOString() } };
    node.statuses.set('1', statusOf([running('web', 'c1', { state, started: false })]));
    node.prober.addPod({ ...pod, metadata: { ...pod.metadata, annotations } });
    await node.clock.advance(1);
    expect(node.asked).toHaveLength(asked);
    const result = asked > 0 ? 'success' : 'unknown';
    expect(node.prober.results.startup('c1') ?? 'unknown').toBe(result);
    expect(node.prober.results.readiness('c1') ?? 'unknown').toBe(result);
  });

  test('S6: a static pod whose mirror pod is known is probed at its regular time after a kubelet restart', async () => {
    await using node = new Node();
    await node.start(0);
    notFirst(node);
    const probes = {
      startupProbe: { ...httpProbe, periodSeconds: 20 },
      readinessProbe: { ...httpProbe, periodSeconds: 30 },
    };
    const pod = podOf('1', [container('web', probes)]);
    const state = { running: { startedAt: new Date(node.clock.now() - 600_000).toISOString() } };
    node.statuses.set('1', statusOf([running('web', 'c1', { state, ready: true })]));
    node.prober.addPod({
      ...pod,
      metadata: { ...pod.metadata, annotations: { 'kubernetes.io/config.source': 'file' } },
    });
    node.prober.statusChanged('1');
    await node.clock.advance(1);
    node.prober.statusChanged('1');
    await node.clock.advance(1);
    expect(node.asked).toHaveLength(0);
    await node.clock.advance(30_000);
    expect(node.asked).toHaveLength(1);
  });
});

describe('R3: probes that hang', () => {
  test('R3: probes that hang delay no other probe, even if 500 of them hang', async () => {
    await using node = new Node();
    await node.start();
    node.answer = (host) => (host === 'hangs' ? new Promise(() => {}) : OK);
    for (let n = 0; n < 500; n++)
      node.add(`h${n}`, { livenessProbe: httpProbe, readinessProbe: httpProbe }, {}, 'hangs');
    for (let n = 0; n < 100; n++) node.add(`w${n}`, { readinessProbe: httpProbe });
    node.asked.length = 0;
    await node.clock.advance(5000);
    const well = node.asked.filter(({ host }) => host === '10.0.0.5').map(({ atMs }) => atMs - 60_000);
    expect(well).toEqual([0, 1000, 2000, 3000, 4000, 5000].flatMap((ms) => Array<number>(100).fill(ms)));
  });

  test('R3: a hanging probe runs one attempt at a time, and its result is ignored after its pod was removed', async () => {
    await using node = new Node();
    await node.start();
    let say: (result: HttpGetResult) => void = () => {};
    node.answer = () =>
      new Promise((resolve) => {
        say = resolve;
      });
    const pod = node.add('1', { readinessProbe: { ...httpProbe, timeoutSeconds: 5 } });
    await node.clock.advance(4500);
    expect(node.asked).toHaveLength(1);
    node.prober.removePod(pod.metadata.uid);
    say(OK);
    await node.clock.advance(10_000);
    expect(node.asked).toHaveLength(1);
    expect(node.updates.filter(({ result }) => result === 'success')).toEqual([]);
    expect(node.prober.results.size).toBe(0);
  });
});

test('R3: 10,000 probes with a period of 1 s are spread evenly and keep their times, with one timer', async () => {
  await using node = new Node();
  await node.start(0);
  for (let n = 0; n < 10_000; n++) {
    const pod = podOf(String(n), [container('web', { readinessProbe: httpProbe })]);
    node.statuses.set(pod.metadata.uid, statusOf([running('web', `c${n}`)], { podIP: String(n) }));
    node.prober.addPod(pod);
  }
  expect(node.clock.pendingTimers).toBe(1);
  await node.clock.advance(1000);
  node.asked.length = 0;
  await node.clock.advance(3000);
  expect(node.asked).toHaveLength(30_000);
  const tenths = Array.from(
    { length: 30 },
    (_, n) => node.asked.filter(({ atMs }) => Math.floor(atMs / 100) === n + 10).length,
  );
  expect([Math.min(...tenths) > 850, Math.max(...tenths) < 1150]).toEqual([true, true]);
  const byPod = Map.groupBy(node.asked, ({ host }) => host);
  for (const [first, second, third] of byPod.values()) {
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeCloseTo(1000, 6);
    expect((third?.atMs ?? 0) - (second?.atMs ?? 0)).toBeCloseTo(1000, 6);
  }
}, 120_000);

describe('probes through the life of a pod', () => {
  const probes = { livenessProbe: httpProbe, readinessProbe: httpProbe };

  test('only readiness is probed while a pod terminates', async () => {
    await using node = new Node();
    await node.start();
    const pod = node.add('1', probes);
    await node.clock.advance(500);
    node.prober.stopLivenessAndStartup(pod.metadata.uid);
    expect(node.prober.explain('1').map(({ kind }) => kind)).toEqual(['readiness']);
    expect(node.prober.results.liveness('c-1')).toBeUndefined();
    node.prober.addPod(pod);
    expect(node.prober.size).toBe(1);
  });

  test('liveness and startup of a sidecar are not probed while its pod terminates, readiness is', async () => {
    await using node = new Node();
    await node.start();
    const side = container('side', { restartPolicy: 'Always', ...probes, startupProbe: httpProbe });
    const pod = podOf('1', [container('web')], { initContainers: [side] });
    node.prober.addPod(pod);
    const startedAt = new Date(node.clock.now()).toISOString();
    const state = { running: { startedAt } };
    const initContainerStatuses = [running('side', 'c-side', { state })];
    node.statuses.set('1', statusOf([running('web', 'c-web', { state })], { initContainerStatuses }));
    node.prober.statusChanged('1');
    await node.clock.advance(500);
    node.answer = () => BAD;
    node.prober.stopLivenessAndStartup('1');
    expect(node.prober.explain('1').map(({ kind }) => kind)).toEqual(['readiness']);
    await node.clock.advance(5000);
    expect(node.updates.filter(({ kind }) => kind === 'liveness')).toEqual([
      expect.objectContaining({ result: 'success' }),
    ]);
    expect(node.prober.results.readiness('c-side')).toBe('failure');
  });

  test('R1: readiness of an evicted pod is probed until its container has stopped', async () => {
    await using node = new Node();
    await node.start();
    node.add('1', probes);
    await node.clock.advance(1500);
    expect(node.prober.results.readiness('c-1')).toBe('success');
    const { containerStatuses = [] } = node.statuses.get('1') ?? {};
    node.statuses.set('1', statusOf(containerStatuses, { phase: 'Failed', reason: 'Evicted' }));
    node.prober.stopLivenessAndStartup('1');
    node.answer = () => BAD;
    await node.clock.advance(5000);
    expect(node.prober.results.readiness('c-1')).toBe('failure');
    const asked = node.asked.length;
    const ended = containerStatuses.map((status) => ({ ...status, state: { terminated: { exitCode: 0 } } }));
    node.statuses.set('1', statusOf(ended, { phase: 'Failed', reason: 'Evicted' }));
    await node.clock.advance(5000);
    expect(node.asked).toHaveLength(asked);
    expect(node.prober.size).toBe(0);
  });

  test('a pod that is not desired is cleaned up, with its metrics (K4)', async () => {
    await using node = new Node();
    await node.start();
    node.add('1', probes);
    node.add('2', probes);
    await node.clock.advance(1500);
    expect(node.registry.text()).toMatch(
      /prober_probe_total\{.*pod="pod-1".*probe_type="Liveness",result="successful"\} 2/,
    );
    node.prober.cleanupPods(new Set(['2']));
    expect(node.prober.size).toBe(2);
    expect(node.registry.text()).not.toContain('pod-1');
    expect(node.registry.text()).toContain(
      'prober_probe_duration_seconds_count{container="web",namespace="default",pod="pod-2"',
    );
  });

  test('a container that will not restart is not probed any more', async () => {
    await using node = new Node();
    await node.start();
    const pod = node.add('1', { readinessProbe: httpProbe });
    await node.clock.advance(1500);
    node.statuses.set('1', statusOf([], { phase: 'Succeeded' }));
    await node.clock.advance(1000);
    expect([node.prober.size, node.prober.results.size]).toEqual([0, 0]);
    node.prober.addPod(pod);
    expect(node.prober.size).toBe(0);
  });

  test('invalid probe annotations are reported once and ignored', async () => {
    await using node = new Node();
    await node.start();
    const pod = podOf('1', [container('web', probes)]);
    node.prober.addPod({ ...pod, metadata: { ...pod.metadata, annotations: { 'prober.node-agent.dev/times': '{' } } });
    const [event] = node.recorder.eventsOf({ kind: 'Pod', name: 'pod-1', namespace: 'default', uid: '1' });
    expect(event).toMatchObject({ reason: 'InvalidProbeTimes', count: 1 });
  });

  test('explain returns the results and the last attempts of each probe', async () => {
    await using node = new Node();
    await node.start();
    node.add('1', { readinessProbe: httpProbe });
    await node.clock.advance(1250);
    expect(node.prober.explain('1')).toEqual([
      {
        container: 'web',
        kind: 'readiness',
        containerId: 'c-1',
        result: 'success',
        dueInMs: 750,
        last: [0, 1000].map((ms) => ({
          atMs: node.clock.now() - 1250 + ms,
          durationMs: 0,
          result: 'success',
          output: 'fine',
        })),
      },
    ]);
    expect(node.prober.explain('2')).toEqual([]);
  });
});

test('no probe attempt is in progress after the prober has stopped', async () => {
  const node = new Node();
  await node.start();
  node.answer = () => new Promise(() => {});
  node.add('1', { readinessProbe: httpProbe });
  await node.clock.advance(0);
  await node.stop();
  expect(node.clock.pendingTimers).toBe(0);
  await node.clock.advance(10_000);
  expect(node.asked).toHaveLength(1);
});
