import { sleep } from '@node-agent/async';
import type { LifecycleHandler, Pod, RuntimePod } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import type { KillReason } from '../src/actions/pod-actions.ts';
import { terminationPrerequisites } from '../src/actions/termination-order.ts';
import { stopTimeoutSeconds, terminationGracePeriodSeconds } from '../src/kill/grace-period.ts';
import { container, pod, sidecar } from './builders.ts';
import { Machine, type MachineOptions, sleeper } from './machine.ts';

describe('C5: grace period of a killed container', () => {
  const probed = container('a', {
    livenessProbe: { terminationGracePeriodSeconds: 5 },
    startupProbe: { terminationGracePeriodSeconds: 7 },
  });
  const silent: Pod = { ...pod(), spec: { containers: [] } };
  const rows: [string, Pod, KillReason, number][] = [
    ["the pod's terminationGracePeriodSeconds", pod(), 'Unknown', 30],
    ['2 s if none is declared', silent, 'Unknown', 2],
    ['deletionGracePeriodSeconds takes precedence', pod({}, { deletionGracePeriodSeconds: 1 }), 'LivenessProbe', 1],
    ['0 if deletionGracePeriodSeconds is 0', pod({}, { deletionGracePeriodSeconds: 0 }), 'Unknown', 0],
    ['terminationGracePeriodSeconds of a failed liveness probe', pod(), 'LivenessProbe', 5],
    ['terminationGracePeriodSeconds of a failed startup probe', pod(), 'StartupProbe', 7],
    ["the pod's, not a probe's, after a failed hook", pod(), 'FailedPostStartHook', 30],
  ];
  test.each(rows)('C5: the grace period of a killed container is $3 s: %s', (_name, aPod, reason, expected) => {
    expect(terminationGracePeriodSeconds(aPod, probed, reason)).toBe(expected);
  });

  test.each([
    [30_000, 30],
    [29_000, 29],
    [28_999, 29],
    [10_000.000000000002, 10],
    [500, 2],
    [0, 2],
    [-55_000, 2],
  ])('with %d ms left of the grace period, the runtime gets a timeout of %d s', (leftMs, expected) => {
    expect(stopTimeoutSeconds(leftMs)).toBe(expected);
  });
});

test('C4: sidecars stop after main containers and later sidecars; init containers wait for none', () => {
  const web = pod({
    initContainers: [sidecar('s1'), container('i'), sidecar('s2'), sidecar('s3')],
    containers: [container('a'), container('b')],
  });
  expect(Object.fromEntries(terminationPrerequisites(web, new Set(['s1', 's3', 'i', 'a'])))).toEqual({
    s3: ['a'],
    s2: ['a', 's3'],
    s1: ['a', 's3'],
  });
});

async function running(web: Pod, options: MachineOptions = {}) {
  const machine = new Machine(options);
  const kubelet = machine.kubelet();
  for (let n = 0; n < 4; n++) await machine.sync(kubelet, web);
  const [runningPod] = await machine.settle(kubelet.getPods());
  if (runningPod === undefined) throw new Error('no pod');
  /** Time at which the process of each container ended, in ms after the start of the kill. */
  const ends = new Map<string, number>();
  const kill = async (aPod: Pod | 'unknown' = web, gracePeriodSeconds?: number, what: RuntimePod = runningPod) => {
    const known = aPod === 'unknown' ? undefined : aPod;
    const startMs = machine.clock.monotonic();
    const startWallMs = machine.clock.now();
    await machine.settle(kubelet.killPod(known, what, gracePeriodSeconds, new AbortController().signal));
    const status = await machine.status(kubelet, web);
    for (const { name, finishedAtMs } of status.containers) ends.set(name, Math.round(finishedAtMs - startWallMs));
    return machine.clock.monotonic() - startMs;
  };
  return { machine, kubelet, runningPod, kill, ends };
}

const stubborn: MachineOptions = { runtime: { script: () => ({ ignoreTerm: true }) } };
const slow = (stopDelayMs: number): MachineOptions => ({ runtime: { script: () => ({ stopDelayMs }) } });

describe('killPod', () => {
  test('killPod signals all containers immediately, stops the sandbox, and returns a result for each', async () => {
    const { machine, kill, ends } = await running(pod({ containers: [sleeper('a'), sleeper('b')] }), slow(1_000));
    expect(await kill()).toBe(1_000);
    expect(machine.live()).toEqual([]);
    expect([ends.get('a'), ends.get('b')]).toEqual([1_000, 1_000]);
    expect(machine.events.slice(-2).toSorted()).toEqual([
      'Normal Killing containers{a}: Stopping container a',
      'Normal Killing containers{b}: Stopping container b',
    ]);
    expect(await kill()).toBe(0);
  });

  test('C5: a container that ignores its stop signal is killed after the grace period', async () => {
    const { kill } = await running(pod({ terminationGracePeriodSeconds: 3, containers: [sleeper('a')] }), stubborn);
    expect(await kill()).toBe(3_000);
  });

  test('C5: killPod uses a grace period override, but at least 2 s', async () => {
    const web = pod({ containers: [sleeper('a')] });
    const { kill } = await running(web, stubborn);
    expect(await kill(web, 0)).toBe(2_000);
  });

  test('C5: a container that only the runtime knows is killed with the grace period and hook in its annotations', async () => {
    const web = pod({ terminationGracePeriodSeconds: 4, containers: [sleeper('a')] });
    const { machine, kill } = await running(web, stubborn);
    expect(await kill('unknown')).toBe(4_000);
    expect(machine.events.at(-1)).toBe('Normal Killing containers{a}: Stopping container a');
  });

  describe("W6: killPod while reading a container's annotations hangs", () => {
    const web = pod({ terminationGracePeriodSeconds: 4, containers: [sleeper('a')] });
    const hanging = async () => {
      const world = await running(web, stubborn);
      world.machine.cri.faults.add({ rpc: 'containerStatus', fault: { kind: 'hang' }, times: 1 });
      return world;
    };

    test('W6: if reading its annotations hangs, a container that only the runtime knows is stopped after 2 s', async () => {
      const { machine, kill } = await hanging();
      expect(await kill('unknown', 1)).toBe(4_000);
      expect(machine.live()).toEqual([]);
      expect(machine.events.at(-1)).toBe('Normal Killing containers{a}: Stopping container a');
    });

    test('W6: if reading its annotations hangs, a container that left the spec gets the pod’s grace period', async () => {
      const { machine, kill } = await hanging();
      expect(await kill(pod({ terminationGracePeriodSeconds: 7, containers: [] }))).toBe(9_000);
      expect(machine.live()).toEqual([]);
    });

    test('C5: killPod fails without stopping a container whose grace period is unknown', async () => {
      const { machine, kubelet, runningPod } = await hanging();
      const killing = kubelet.killPod(undefined, runningPod, undefined, new AbortController().signal);
      await expect(machine.settle(killing)).rejects.toMatchObject({ code: 'KillPod' });
      expect(machine.live()).toEqual(['a/0']);
    });
  });

  test('killPod stops a container that is no longer in the spec', async () => {
    const { machine, kill } = await running(pod({ containers: [sleeper('a'), sleeper('b')] }));
    await kill(pod({ containers: [sleeper('a')] }));
    expect(machine.live()).toEqual([]);
  });

  test('C5: all containers are signalled again if the kubelet restarts during a kill', async () => {
    const web = pod({ terminationGracePeriodSeconds: 60, containers: [sleeper('a'), sleeper('b')] });
    const { machine, kubelet, runningPod } = await running(web, stubborn);
    const stop = new AbortController();
    const first = kubelet.killPod(web, runningPod, undefined, stop.signal).catch(() => 'aborted');
    await machine.clock.advance(1_000);
    stop.abort(new Error('a shorter grace period came'));
    expect(await machine.settle(first)).toBe('aborted');
    const next = machine.kubelet();
    await machine.settle(next.killPod(web, runningPod, 1, new AbortController().signal));
    expect(machine.live()).toEqual([]);
  });

  test.each([
    ['longer than the remaining time', 25, 30_000],
    ['shorter than the remaining time', 5, 25_000],
  ])(
    'C5: a second kill with a grace period %s never extends the first one',
    async (_name, graceSeconds, expectedMs) => {
      const web = pod({ terminationGracePeriodSeconds: 30, containers: [sleeper('a')] });
      const { machine, kubelet, runningPod, kill } = await running(web, stubborn);
      const stop = new AbortController();
      const first = kubelet.killPod(web, runningPod, undefined, stop.signal).catch(() => 'aborted');
      const startMs = machine.clock.monotonic();
      await machine.clock.advance(20_000);
      stop.abort(new Error('a shorter grace period came'));
      expect(await machine.settle(first)).toBe('aborted');
      await kill(web, graceSeconds);
      expect(machine.clock.monotonic() - startMs).toBe(expectedMs);
    },
  );

  test('C5: a retried kill grants the full grace period if the runtime could not be reached before', async () => {
    const web = pod({ terminationGracePeriodSeconds: 30, containers: [sleeper('a')] });
    const { machine, kubelet, runningPod, kill } = await running(web, stubborn);
    machine.cri.faults.add({ rpc: 'stopContainer', times: 1, fault: { kind: 'error', code: 'UNAVAILABLE' } });
    const killing = kubelet.killPod(web, runningPod, undefined, new AbortController().signal);
    await expect(machine.settle(killing)).rejects.toMatchObject({ code: 'KillPod' });
    await machine.clock.advance(25_000);
    expect(await kill()).toBe(30_000);
  });

  test('C5: the error of killPod names containers that cannot be stopped; their sandbox is not stopped early', async () => {
    const { machine, kubelet, runningPod } = await running(pod({ containers: [sleeper('a')] }));
    machine.cri.faults.add({ rpc: 'stopContainer', fault: { kind: 'error', code: 'INTERNAL', message: 'stuck' } });
    const killing = kubelet.killPod(pod({ containers: [sleeper('a')] }), runningPod, 1, new AbortController().signal);
    await expect(machine.settle(killing)).rejects.toMatchObject({
      code: 'KillPod',
      message: expect.stringContaining(
        'failed to "KillContainer" for "a" with KillContainerError: "rpc error: code = Internal desc = stuck"',
      ),
    });
    expect(machine.live()).toEqual(['a/0']);
    expect((await machine.status(kubelet, pod())).sandboxes[0]?.state).toBe('ready');
  });
});

describe('C5: container that the runtime cannot stop', () => {
  const web = pod({ terminationGracePeriodSeconds: 30, containers: [sleeper('a')] });

  async function refusing(when: (timeout: number) => boolean) {
    const world = await running(web, stubborn);
    const { machine, kubelet, runningPod } = world;
    const asked: number[] = [];
    machine.cri.faults.add({
      rpc: 'stopContainer',
      times: Number.POSITIVE_INFINITY,
      when: (request: unknown) => {
        const timeout = Number((request as { readonly timeout: bigint | number }).timeout);
        asked.push(timeout);
        return when(timeout);
      },
      fault: { kind: 'error', code: 'UNKNOWN', message: 'failed to parse stop signal' },
    });
    const tried = async (seconds?: number): Promise<string> => {
      const killing = kubelet.killPod(web, runningPod, seconds, new AbortController().signal);
      return machine.settle(
        killing.then(
          () => 'killed',
          (err: unknown) => (err as { readonly code: string }).code,
        ),
      );
    };
    return { ...world, asked, tried };
  }

  test('C5: a container with an unknown stop signal is killed after its grace period', async () => {
    const { machine, asked, tried } = await refusing((timeout) => timeout > 0);
    expect(await tried()).toBe('KillPod');
    await machine.clock.advance(29_999);
    expect(await tried()).toBe('KillPod');
    expect([machine.live(), asked]).toEqual([['a/0'], [30, 30]]);
    await machine.clock.advance(1);
    expect(await tried()).toBe('killed');
    expect([machine.live(), asked.slice(2)]).toEqual([[], [30, 0]]);
  });

  test('C5: a container that the runtime cannot stop gets a shorter grace period on request, but at least 2 s', async () => {
    const { machine, tried } = await refusing((timeout) => timeout > 0);
    expect(await tried()).toBe('KillPod');
    await machine.clock.advance(5_000);
    expect(await tried(0)).toBe('KillPod');
    await machine.clock.advance(1_999);
    expect(await tried(0)).toBe('KillPod');
    await machine.clock.advance(1);
    expect(await tried(0)).toBe('killed');
    expect(machine.live()).toEqual([]);
  });

  test('C5: a container that the runtime cannot stop at all is killed with its sandbox', async () => {
    const { machine, kubelet, tried } = await refusing(() => true);
    expect(await tried()).toBe('KillPod');
    expect(machine.live()).toEqual(['a/0']);
    await machine.clock.advance(30_000);
    expect(await tried()).toBe('KillPod');
    expect(machine.live()).toEqual([]);
    expect((await machine.status(kubelet, web)).sandboxes[0]?.state).toBe('notReady');
  });

  test('C5: a container that the runtime temporarily cannot stop is signalled later', async () => {
    let refuses = true;
    const { machine, asked, tried } = await refusing(() => refuses);
    expect(await tried()).toBe('KillPod');
    await machine.clock.advance(60_000);
    refuses = false;
    expect(await tried()).toBe('killed');
    expect(asked).toEqual([30, 30]);
  });
});

describe('C4: termination order of sidecars', () => {
  const web = pod({
    initContainers: [sleeper('s1', { restartPolicy: 'Always' }), sleeper('s2', { restartPolicy: 'Always' })],
    containers: [sleeper('a')],
  });

  test('C4: sidecars stop after the last main container, in reverse order', async () => {
    const { kill, ends } = await running(web, slow(1_000));
    await kill();
    expect([ends.get('a'), ends.get('s2'), ends.get('s1')]).toEqual([1_000, 2_000, 3_000]);
  });

  test('C4: sidecars stop together when the grace period is over', async () => {
    const { kill, ends } = await running({ ...web, spec: { ...web.spec, terminationGracePeriodSeconds: 5 } }, stubborn);
    await kill();
    // The sidecars get the minimum grace period of 2 s, concurrently.
    expect([ends.get('a'), ends.get('s2'), ends.get('s1')]).toEqual([5_000, 7_000, 7_000]);
  });

  test('C5: if a main container could not be stopped, the attempt ends at once and stops no sidecar before it', async () => {
    const { machine, kill, ends } = await running(web, slow(1_000));
    machine.cri.faults.add({ rpc: 'stopContainer', times: 1, fault: { kind: 'error', code: 'UNAVAILABLE' } });
    await expect(kill()).rejects.toMatchObject({ code: 'KillPod' });
    expect([machine.clock.monotonic(), ends.size]).toEqual([0, 0]);
    await kill();
    expect([ends.get('a'), ends.get('s2'), ends.get('s1')]).toEqual([1_000, 2_000, 3_000]);
  });
});

describe('C5: preStop hook of a killed container', () => {
  const preStop: LifecycleHandler = { exec: { command: ['bye'] } };
  const web = pod({ terminationGracePeriodSeconds: 10, containers: [sleeper('a', { lifecycle: { preStop } })] });
  const hooked = (takesMs: number, log: string[] = [], outcome = 'ok'): MachineOptions => ({
    ...stubborn,
    hooks: {
      postStart: async () => {},
      preStop: (_pod, _container, _id, handler, gracePeriodMs, signal) =>
        new Promise((resolve, reject) => {
          log.push(`${handler.exec?.command?.[0]} ${gracePeriodMs}`);
          signal.addEventListener('abort', () => log.push('aborted'));
          clockOf.current?.setTimer(takesMs, () =>
            outcome === 'ok' ? resolve() : reject(new Error('password: 1234')),
          );
        }),
    },
  });
  const clockOf: { current?: Machine['clock'] } = {};
  const start = async (options: MachineOptions) => {
    const world = await running(web, options);
    clockOf.current = world.machine.clock;
    return world;
  };

  test('C5: a preStop hook runs within the grace period', async () => {
    const log: string[] = [];
    const { kill } = await start(hooked(4_000, log));
    expect(await kill()).toBe(10_000);
    expect(log).toEqual(['bye 10000', 'aborted']);
  });

  test('C5: a preStop hook that takes the whole grace period is abandoned, and the container gets 2 s', async () => {
    const log: string[] = [];
    const { kill } = await start(hooked(60_000, log));
    expect(await kill()).toBe(12_000);
  });

  test("C5: the preStop hook of an orphaned pod is read from the container's annotations", async () => {
    const log: string[] = [];
    const { kill } = await start(hooked(1_000, log));
    expect(await kill('unknown', 5)).toBe(5_000);
    expect(log[0]).toBe('bye 5000');
  });

  test('C5: a preStop hook runs once: a kill after an aborted one waits for the running hook', async () => {
    const log: string[] = [];
    const { machine, kubelet, runningPod, kill } = await start(hooked(8_000, log));
    const stop = new AbortController();
    const first = kubelet.killPod(web, runningPod, undefined, stop.signal).catch(() => 'aborted');
    const startMs = machine.clock.monotonic();
    await machine.clock.advance(5_000);
    stop.abort(new Error('a shorter grace period came'));
    expect(await machine.settle(first)).toBe('aborted');
    expect(log).toEqual(['bye 10000']);
    await kill(web, 4);
    // The hook used 8 s of the grace period of 9 s; the container gets the rest, but at least 2 s.
    expect(machine.clock.monotonic() - startMs).toBe(10_000);
    expect(log).toEqual(['bye 10000', 'aborted']);
  });

  test('C5: a preStop hook runs once: a retried kill does not repeat a completed hook', async () => {
    const log: string[] = [];
    const { machine, kubelet, runningPod, kill } = await start(hooked(4_000, log));
    machine.cri.faults.add({ rpc: 'stopContainer', times: 2, fault: { kind: 'error', code: 'UNAVAILABLE' } });
    for (let attempt = 0; attempt < 2; attempt++) {
      const killing = kubelet.killPod(web, runningPod, undefined, new AbortController().signal);
      await expect(machine.settle(killing)).rejects.toMatchObject({ code: 'KillPod' });
    }
    await kill();
    expect(machine.live()).toEqual([]);
    expect(log.filter((line) => line !== 'aborted')).toEqual(['bye 10000']);
  });

  test('C5: a preStop hook runs again for the next container of the same name', async () => {
    const log: string[] = [];
    const { machine, kubelet, kill } = await start(hooked(1_000, log));
    await kill();
    await machine.clock.advance(60_000);
    for (let sync = 0; sync < 2; sync++) await machine.sync(kubelet, web);
    const [next] = await machine.settle(kubelet.getPods());
    await kill(web, undefined, next);
    expect(log.filter((line) => line !== 'aborted')).toEqual(['bye 10000', 'bye 10000']);
  });

  test('K4: a preStop hook is cancelled when its pod is dropped', async () => {
    const log: string[] = [];
    const { machine, kubelet, runningPod } = await start(hooked(8_000, log));
    const stop = new AbortController();
    const first = kubelet.killPod(web, runningPod, undefined, stop.signal).catch(() => 'aborted');
    await machine.clock.advance(1_000);
    stop.abort(new Error('a shorter grace period came'));
    expect(await machine.settle(first)).toBe('aborted');
    kubelet.forget('uid-1');
    expect(log).toEqual(['bye 10000', 'aborted']);
  });

  test('a failed preStop hook records an event without the error text, and the container is stopped', async () => {
    const { machine, kill } = await start(hooked(1_000, [], 'fail'));
    await kill();
    expect(machine.live()).toEqual([]);
    expect(machine.events).toContain('Warning FailedPreStopHook containers{a}: PreStopHook failed');
    expect(machine.events.join()).not.toContain('1234');
  });

  test('C5: a preStop hook continues beyond the grace period until the container has stopped, with an event', async () => {
    const ends: number[] = [];
    const { machine, kill } = await running(web, {
      ...stubborn,
      hooks: {
        postStart: async () => {},
        preStop: (_pod, _container, _id, _handler, _gracePeriodMs, signal) =>
          new Promise((_resolve, reject) => {
            const startMs = clockOf.current?.monotonic() ?? 0;
            signal.addEventListener('abort', () => {
              ends.push((clockOf.current?.monotonic() ?? 0) - startMs);
              reject(new Error('gone'));
            });
          }),
      },
    });
    clockOf.current = machine.clock;
    expect(await kill()).toBe(12_000);
    expect(ends).toEqual([12_000]);
    const told = machine.events.filter((event) => event.includes('PreStopHook failed'));
    expect(told).toEqual(['Warning FailedPreStopHook containers{a}: PreStopHook failed']);
  });

  test('C5: a preStop hook succeeds if it completes within the 2 s after the grace period', async () => {
    const { machine, kill } = await start(hooked(11_000));
    expect(await kill()).toBe(12_000);
    expect(machine.events.join()).not.toContain('FailedPreStopHook');
  });

  describe('preStop hook of a container that exits', () => {
    const spec = (preStop: LifecycleHandler, exitAfterSeconds: number) =>
      pod({
        terminationGracePeriodSeconds: 60,
        containers: [
          { name: 'a', image: 'busybox', command: ['sleep', `${exitAfterSeconds}`], lifecycle: { preStop } },
        ],
      });
    const sleeping = async (web: Pod) => {
      const hooks: MachineOptions['hooks'] = {
        postStart: async () => {},
        preStop: async (_pod, _container, _id, _handler, _gracePeriodMs, signal) => {
          if (clockOf.current !== undefined) await sleep(clockOf.current, 50_000, signal);
        },
      };
      const world = await running(web, { hooks });
      clockOf.current = world.machine.clock;
      return world;
    };
    const idOf = ({ containers }: RuntimePod) => containers.find(({ name }) => name === 'a')?.id ?? '';

    test.each<[string, LifecycleHandler]>([
      ['sleep', { sleep: { seconds: 50 } }],
      ['httpGet', { httpGet: { port: 80 } }],
    ])('C5: a preStop hook of type %s is cancelled when the container exits', async (_kind, preStop) => {
      const web = spec(preStop, 20);
      const { machine, kubelet, runningPod } = await sleeping(web);
      const killing = kubelet.killPod(web, runningPod, undefined, new AbortController().signal);
      await machine.clock.advance(25_000);
      const endedMs = machine.clock.monotonic();
      kubelet.containerEnded('uid-1', 'another');
      kubelet.containerEnded('uid-1', idOf(runningPod));
      await machine.settle(killing);
      expect(machine.clock.monotonic() - endedMs).toBe(0);
      expect(machine.events.join()).not.toContain('FailedPreStopHook');
    });

    test('C5: a preStop sleep hook is cancelled if the container had exited before the kill', async () => {
      const web = spec({ sleep: { seconds: 50 } }, 20);
      const { machine, kubelet, runningPod } = await sleeping(web);
      await machine.clock.advance(25_000);
      kubelet.containerEnded('uid-1', idOf(runningPod));
      const startMs = machine.clock.monotonic();
      await machine.settle(kubelet.killPod(web, runningPod, undefined, new AbortController().signal));
      expect(machine.clock.monotonic() - startMs).toBe(0);
    });

    test('C5, W6: a preStop sleep hook completes if the runtime does not report whether the container has exited', async () => {
      const web = spec({ sleep: { seconds: 50 } }, 55);
      const { machine, kubelet, runningPod } = await sleeping(web);
      await machine.clock.advance(10_000);
      machine.cri.faults.add({ rpc: 'containerStatus', times: 1, fault: { kind: 'hang' } });
      const startMs = machine.clock.monotonic();
      await machine.settle(kubelet.killPod(web, runningPod, undefined, new AbortController().signal));
      expect(machine.clock.monotonic() - startMs).toBe(50_000);
    });
  });

  test('no preStop hook runs with a grace period of 0', async () => {
    const log: string[] = [];
    const { kill } = await start(hooked(1_000, log));
    expect(await kill(web, 0)).toBe(2_000);
    expect(log).toEqual([]);
  });
});

test('a kill after a failed probe uses the grace period of the probe', async () => {
  const livenessProbe = { terminationGracePeriodSeconds: 3, exec: { command: ['true'] } };
  const web = pod({ containers: [sleeper('a', { livenessProbe })] });
  const { machine, kubelet } = await running(web, stubborn);
  machine.liveness.set(machine.cri.liveContainers()[0]?.id ?? '', 'failure');
  const startMs = machine.clock.monotonic();
  await machine.sync(kubelet, web);
  expect(machine.clock.monotonic() - startMs).toBe(3_000);
  expect(machine.live()).toEqual(['a/1']);
  expect(machine.events).toContain(
    'Normal Killing containers{a}: Container a failed liveness probe, will be restarted',
  );
});
