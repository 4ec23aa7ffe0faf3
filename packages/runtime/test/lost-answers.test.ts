import { ContainerState, CriError, type CriErrorCode } from '@node-agent/cri-client';
import type { RpcFault, RpcName, Script } from '@node-agent/fake-cri';
import type { Pod, ResourceRequirements, RuntimePodStatus } from '@node-agent/pod-spec';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type LifecycleHooks, noHooks } from '../src/index.ts';
import type { AppliedResources } from '../src/resize/applied-resources.ts';
import { pod } from './builders.ts';
import { converge, expectNoTwins } from './kills.ts';
import { Machine, once, sleeper } from './machine.ts';

describe('C1: lost responses of the runtime', () => {
  const web = pod({ containers: [sleeper('a')] });
  const codes: readonly CriErrorCode[] = ['DEADLINE_EXCEEDED', 'UNAVAILABLE', 'CANCELLED', 'UNKNOWN', 'INTERNAL'];
  const calls: readonly RpcName[] = ['runPodSandbox', 'createContainer', 'startContainer'];

  const lateStart = {
    rpc: 'startContainer',
    times: 1,
    fault: { kind: 'lateSuccess', timeoutMs: 10, workDelayMs: 500 },
  } as const;

  test.each(calls.flatMap((rpc) => codes.map((code) => [rpc, code] as const)))(
    'C1: if the response of %s is lost with %s, there is one sandbox and one container, and no restart is counted',
    async (rpc, code) => {
      const machine = new Machine();
      machine.cri.faults.add({ rpc, times: 1, fault: { kind: 'answerLost', code } });
      await converge(machine, web, 4);
      expect(machine.live()).toEqual(['a/0']);
      const { sandboxes } = await machine.status(machine.kubelet(), web);
      expect(sandboxes.filter(({ state }) => state === 'ready')).toHaveLength(1);
    },
  );

  test.each(calls)(
    'C1: %s times out and completes in the runtime later: no second sandbox or container is created',
    async (rpc) => {
      for (const workDelayMs of [100, 1_500, 2_500, 5_000, 9_000]) {
        const machine = new Machine();
        machine.cri.faults.add({ rpc, times: 1, fault: { kind: 'lateSuccess', timeoutMs: 50, workDelayMs } });
        await converge(machine, web, 12);
        expect(machine.live()).toHaveLength(1);
      }
    },
  );

  test('C1: a kubelet restart while a start with a lost response is in progress causes no second container', async () => {
    const machine = new Machine({ runtime: { latencies: { startContainerMs: 3_000 } } });
    machine.cri.faults.add({ rpc: 'startContainer', times: 1, fault: { kind: 'lateSuccess', timeoutMs: 10 } });
    const kubelet = machine.kubelet();
    await machine.sync(kubelet, web);
    expect(machine.live()).toEqual([]);
    await converge(machine, web, 6);
    expect(machine.live()).toEqual(['a/0']);
  });

  test('C1: a container whose start completes between the status read and the creation is kept', async () => {
    const machine = new Machine();
    machine.cri.faults.add(lateStart);
    const kubelet = machine.kubelet();
    await machine.sync(kubelet, web);
    const before = await machine.status(kubelet, web);
    expect(before.containers.map(({ state }) => state)).toEqual(['created']);
    await machine.clock.advance(1_000);
    const result = await machine.settle(kubelet.syncPod(web, before, new AbortController().signal));
    expect(result.error).toBeUndefined();
    expect(machine.live()).toEqual(['a/0']);
  });

  test.each([
    ['that completes unseen before the pod is killed: the container is signalled', 1_000, 1],
    ['that is in progress when the pod is killed: no event is recorded', 0, 0],
  ])('C5: a start with a lost response %s', async (_name, waitMs, told) => {
    const machine = new Machine({ runtime: { script: () => ({ termExitCode: 7 }) } });
    machine.cri.faults.add(lateStart);
    const kubelet = machine.kubelet();
    await machine.sync(kubelet, web);
    const [before] = await machine.settle(kubelet.getPods());
    expect(before?.containers.map(({ state }) => state)).toEqual(['created']);
    await machine.clock.advance(waitMs);
    if (before !== undefined)
      await machine.settle(kubelet.killPod(web, before, undefined, new AbortController().signal));
    const { containers } = await machine.status(kubelet, web);
    expect(containers.filter(({ exitCode }) => exitCode === 7)).toHaveLength(told);
    expect(machine.events.filter((event) => event.includes('Killing'))).toHaveLength(told);
    expect(machine.live()).toEqual([]);
  });

  describe('C5: before a sandbox is stopped, the kubelet checks whether its created containers have started', () => {
    const two = pod({ terminationGracePeriodSeconds: 30, containers: [sleeper('a'), sleeper('b')] });

    /**
     * Creates a pod in which `a` runs and takes 5 s to stop, and `b` is created. If `b` starts at all, it does so 500
     * ms after the kill has begun.
     */
    async function half(workDelayMs: number): Promise<{ machine: Machine; kill: () => Promise<number> }> {
      const machine = new Machine({ runtime: { script: () => ({ termExitCode: 7, stopDelayMs: 5_000 }) } });
      const fault = { kind: 'lateSuccess', timeoutMs: 10, workDelayMs } as const;
      machine.cri.faults.add({ rpc: 'startContainer', skip: 1, times: 1, fault });
      const kubelet = machine.kubelet();
      await machine.sync(kubelet, two);
      const [runningPod] = await machine.settle(kubelet.getPods());
      expect(runningPod?.containers.map(({ state }) => state).toSorted()).toEqual(['created', 'running']);
      const kill = async (): Promise<number> => {
        const startMs = machine.clock.monotonic();
        if (runningPod === undefined) throw new Error('no pod');
        await machine.settle(kubelet.killPod(two, runningPod, undefined, new AbortController().signal));
        return Math.round(machine.clock.monotonic() - startMs);
      };
      return { machine, kill };
    }
    const exits = async (machine: Machine): Promise<unknown> => {
      const { containers } = await machine.status(machine.kubelet(), two);
      return Object.fromEntries(containers.map(({ name, exitCode }) => [name, exitCode]));
    };

    test('C5: a container whose start completes during the grace period of others gets its own grace period', async () => {
      const { machine, kill } = await half(500);
      expect(await kill()).toBe(10_000);
      expect(await exits(machine)).toEqual({ a: 7, b: 7 });
    });

    test.each<[string, RpcFault, number]>([
      ['hangs', { kind: 'hang' }, 7_000],
      ['fails', { kind: 'error', code: 'UNAVAILABLE' }, 5_000],
    ])(
      'C5: if reading the status of a created container %s, its kill goes on after at most 2 s without hook or event',
      async (_name, fault, ms) => {
        const { machine, kill } = await half(600_000);
        machine.cri.faults.add({ rpc: 'containerStatus', times: 1, fault });
        expect(await kill()).toBe(ms);
        expect(machine.live()).toEqual([]);
        expect(machine.events.filter((event) => event.includes('Killing'))).toEqual([
          'Normal Killing containers{a}: Stopping container a',
        ]);
      },
    );
  });

  test('resources of the next container are not recorded while the previous container still exists', async () => {
    const noted = new Map<string, string | undefined>();
    const applied: AppliedResources = {
      appliedToContainer: () => undefined,
      appliedToPod: () => undefined,
      containerApplied: async (_uid, name, { requests }) => void noted.set(name, requests?.cpu),
      podApplied: async () => {},
    };
    const machine = new Machine({ components: { applied } });
    const kubelet = machine.kubelet();
    const asking = (cpu: string): Pod => pod({ containers: [sleeper('a', { resources: { requests: { cpu } } })] });
    machine.cri.faults.add({ rpc: 'startContainer', times: 1, fault: { kind: 'error', code: 'UNAVAILABLE' } });
    await machine.sync(kubelet, asking('2'));
    expect(noted.get('a')).toBe('2');
    machine.cri.faults.add({ rpc: 'removeContainer', times: 1, fault: { kind: 'error', code: 'UNKNOWN' } });
    await machine.sync(kubelet, asking('1'));
    expect(noted.get('a')).toBe('2');
    await machine.clock.advance(60_000);
    await machine.sync(kubelet, asking('1'));
    expect(noted.get('a')).toBe('1');
    expect(machine.live()).toHaveLength(1);
  });

  test('a running container that one list of the runtime leaves out keeps the record of its resources, so that it is resized later', async () => {
    const noted = new Map<string, ResourceRequirements>();
    const applied: AppliedResources = {
      appliedToContainer: (_uid, name) => noted.get(name),
      appliedToPod: () => undefined,
      containerApplied: async (_uid, name, resources) => void noted.set(name, resources),
      podApplied: async () => {},
    };
    const machine = new Machine({ components: { applied } });
    const asking = (cpu: string): Pod => pod({ containers: [sleeper('a', { resources: { requests: { cpu } } })] });
    const kubelet = machine.kubelet();
    await machine.sync(kubelet, asking('1'));
    const empty: RuntimePodStatus = { ...(await machine.status(kubelet, asking('1'))), sandboxes: [], containers: [] };
    const signal = new AbortController().signal;
    await machine.settle(kubelet.syncPod(asking('2'), empty, signal));
    expect(machine.live()).toEqual(['a/0']);
    expect(noted.get('a')?.requests).toEqual({ cpu: '1' });
    await machine.sync(kubelet, asking('2'));
    expect(machine.live()).toEqual(['a/0']);
    expect(noted.get('a')?.requests).toEqual({ cpu: '2' });
  });

  test('C2: the next attempt number is known although all records were removed and the creation fails', async () => {
    let full = false;
    const applied: AppliedResources = {
      appliedToContainer: () => undefined,
      appliedToPod: () => undefined,
      containerApplied: async () => {
        if (full) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
      },
      podApplied: async () => {},
    };
    const script: Script = ({ attempt }) => (attempt === 0 ? { exitAfterMs: 1, exitCode: 1 } : {});
    const machine = new Machine({ runtime: { script }, components: { applied } });
    const web = pod({ containers: [sleeper('a')] });
    await machine.sync(machine.kubelet(), web);
    await machine.clock.advance(10);
    machine.cri.faults.add({ rpc: 'startContainer', times: 1, fault: { kind: 'error', code: 'UNAVAILABLE' } });
    await machine.sync(machine.kubelet(), web);
    const kubelet = machine.kubelet();
    const { containers } = await machine.status(kubelet, web);
    expect(containers.map(({ state, restartCount }) => `${restartCount} ${state}`).toSorted()).toEqual([
      '0 exited',
      '1 created',
    ]);
    // The record of the exited container is removed, as by container garbage collection.
    const crashed = containers.find(({ state }) => state === 'exited');
    await kubelet.removeContainer(crashed?.id ?? '', new AbortController().signal);
    full = true;
    await machine.sync(kubelet, web);
    expect((await machine.status(kubelet, web)).containers).toEqual([]);
    full = false;
    await machine.clock.advance(60_000);
    await machine.sync(kubelet, web);
    expect(machine.live()).toEqual(['a/1']);
  });

  test('C4: a container that started after StartContainer timed out stops before the sidecars', async () => {
    const initContainers = [sleeper('s', { restartPolicy: 'Always' })];
    const web = pod({ initContainers, containers: [sleeper('a')], terminationGracePeriodSeconds: 30 });
    const machine = new Machine({ runtime: { script: () => ({ termExitCode: 7, stopDelayMs: 5_000 }) } });
    const fault = { kind: 'lateSuccess', timeoutMs: 10, workDelayMs: 500 } as const;
    machine.cri.faults.add({ rpc: 'startContainer', skip: 1, times: 1, fault });
    const kubelet = machine.kubelet();
    for (let n = 0; n < 2; n++) await machine.sync(kubelet, web);
    const [runningPod] = await machine.settle(kubelet.getPods());
    if (runningPod === undefined) throw new Error('no pod');
    expect(Object.fromEntries(runningPod.containers.map(({ name, state }) => [name, state]))).toEqual({
      s: 'running',
      a: 'created',
    });
    await machine.clock.advance(1_000);
    const startMs = machine.clock.now();
    await machine.settle(kubelet.killPod(web, runningPod, undefined, new AbortController().signal));
    const { containers } = await machine.status(kubelet, web);
    const ends = containers.map(({ name, exitCode, finishedAtMs }) => [
      name,
      exitCode,
      Math.round(finishedAtMs - startMs),
    ]);
    expect(ends.toSorted()).toEqual([
      ['a', 7, 5_000],
      ['s', 7, 10_000],
    ]);
    expect(machine.events.filter((event) => event.includes('Killing'))).toHaveLength(2);
  });

  test('C5: running containers are signalled while the state of another is unknown; sidecars wait 2 s', async () => {
    const initContainers = [sleeper('s', { restartPolicy: 'Always' })];
    const web = pod({ initContainers, containers: [sleeper('a'), sleeper('b')], terminationGracePeriodSeconds: 30 });
    const machine = new Machine({ runtime: { script: () => ({ termExitCode: 7 }) } });
    machine.cri.faults.add({ rpc: 'startContainer', skip: 2, fault: { kind: 'error', code: 'UNAVAILABLE' } });
    const kubelet = machine.kubelet();
    for (let n = 0; n < 2; n++) await machine.sync(kubelet, web);
    const [runningPod] = await machine.settle(kubelet.getPods());
    if (runningPod === undefined) throw new Error('no pod');
    expect(runningPod.containers.map(({ name, state }) => `${name} ${state}`).toSorted()).toEqual([
      'a running',
      'b created',
      's running',
    ]);
    const startMs = machine.clock.now();
    const hang = machine.cri.faults.add({ rpc: 'containerStatus', fault: { kind: 'hang' } });
    await machine.settle(kubelet.killPod(web, runningPod, undefined, new AbortController().signal));
    hang();
    const { containers } = await machine.status(kubelet, web);
    const ends = containers
      .filter(({ name }) => name !== 'b')
      .map(({ name, finishedAtMs }) => [name, Math.round(finishedAtMs - startMs)]);
    expect(ends.toSorted()).toEqual([
      ['a', 0],
      ['s', 2_000],
    ]);
  });

  describe('C5: container that started after StartContainer timed out (late start)', () => {
    const hooked = pod({
      terminationGracePeriodSeconds: 30,
      containers: [sleeper('a', { lifecycle: { preStop: { exec: { command: ['drain'] } } } })],
    });

    /**
     * Creates a pod whose only container started after the kubelet had given up on the start. `says` replaces the
     * runtime's responses for this container.
     */
    async function unseen(says: (machine: Machine) => Partial<Machine['cri']>) {
      const hook = { begun: 0, ended: 0 };
      const hooks: LifecycleHooks = {
        ...noHooks,
        preStop: (_pod, _container, _id, _handler, _graceMs, signal) => {
          hook.begun++;
          return new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => {
              hook.ended++;
              reject(signal.reason);
            });
          });
        },
      };
      const machine = new Machine({ hooks, runtime: { script: () => ({ termExitCode: 7 }) } });
      const fault = { kind: 'lateSuccess', timeoutMs: 10, workDelayMs: 500 } as const;
      machine.cri.faults.add({ rpc: 'startContainer', times: 1, fault });
      const over: Partial<Machine['cri']> = {};
      const cri = new Proxy(machine.cri, {
        get(target, key) {
          const own = Reflect.get(over, key) ?? Reflect.get(target, key);
          return typeof own === 'function' ? own.bind(target) : own;
        },
      });
      const kubelet = machine.kubelet(cri);
      await machine.sync(kubelet, hooked);
      const [runningPod] = await machine.settle(kubelet.getPods());
      if (runningPod === undefined) throw new Error('no pod');
      await machine.clock.advance(1_000);
      expect(runningPod.containers.map(({ state }) => state)).toEqual(['created']);
      Object.assign(over, says(machine));
      const kill = (signal: AbortSignal = new AbortController().signal) =>
        kubelet.killPod(hooked, runningPod, undefined, signal);
      return { machine, hook, over, kill };
    }

    test.each<[string, () => Promise<never>]>([
      ['fails', () => Promise.reject(new Error('away'))],
      ['hangs', () => new Promise(() => {})],
    ])(
      'C5: a container with a late start is signalled by the next kill although reading its status %s, and its preStop hook ends',
      async (_name, answer) => {
        const { machine, hook, over, kill } = await begun();
        Object.assign(over, { containerStatus: answer });
        await machine.settle(kill());
        expect(hook).toEqual({ begun: 1, ended: 1 });
        const { containers } = await machine.status(machine.kubelet(), hooked);
        expect(containers.map(({ exitCode }) => exitCode)).toEqual([7]);
      },
    );

    /** Starts a kill that runs the hook, and aborts it after 5 s. */
    async function begun() {
      const parts = await unseen(() => ({}));
      const stop = new AbortController();
      const first = parts.kill(stop.signal).catch(() => 'aborted');
      await parts.machine.clock.advance(5_000);
      stop.abort(new Error('a shorter grace period came'));
      expect(await parts.machine.settle(first)).toBe('aborted');
      return parts;
    }
    const unknown =
      ({ cri }: Machine): Machine['cri']['containerStatus'] =>
      async (request, signal) => {
        const answer = await cri.containerStatus(request, signal);
        return { ...answer, status: answer.status && { ...answer.status, state: ContainerState.CONTAINER_UNKNOWN } };
      };

    test('C5: a container with a late start is signalled although its state is unknown and it cannot be stopped at first', async () => {
      const { machine, over, kill } = await begun();
      let stops = 0;
      const stopContainer: Machine['cri']['stopContainer'] = (request, signal) => {
        const away = new CriError({ rpc: 'StopContainer', code: 'UNAVAILABLE', details: 'busy' });
        return stops++ === 0 ? Promise.reject(away) : machine.cri.stopContainer(request, signal);
      };
      Object.assign(over, { containerStatus: unknown(machine), stopContainer });
      await expect(machine.settle(kill())).rejects.toThrow('busy');
      await machine.settle(kill());
      const { containers } = await machine.status(machine.kubelet(), hooked);
      expect(containers.map(({ exitCode }) => exitCode)).toEqual([7]);
    });

    test('C5: a kill does not wait for a container with a late start that no longer exists; its preStop hook ends', async () => {
      const { machine, hook, over, kill } = await begun();
      const gone = () => Promise.reject(new CriError({ rpc: 'ContainerStatus', code: 'NOT_FOUND', details: 'gone' }));
      Object.assign(over, { containerStatus: gone, stopContainer: gone });
      const told = (): number => machine.events.filter((event) => event.includes('Killing')).length;
      const [before, startMs] = [told(), machine.clock.monotonic()];
      await machine.settle(kill());
      expect([machine.clock.monotonic() - startMs, told() - before]).toEqual([0, 0]);
      expect(hook).toEqual({ begun: 1, ended: 1 });
    });

    test('C5: a late start that was never found running, and whose status cannot be read, does not block the kill', async () => {
      const away = () => Promise.reject(new CriError({ rpc: 'Status', code: 'INTERNAL', details: 'away' }));
      const { machine, over, kill } = await unseen((one) => ({
        containerStatus: unknown(one),
        stopContainer: away,
        stopPodSandbox: away,
      }));
      await expect(machine.settle(kill())).rejects.toThrow('away');
      const { cri } = machine;
      Object.assign(over, { containerStatus: away, stopPodSandbox: cri.stopPodSandbox.bind(cri) });
      await machine.settle(kill());
      expect(machine.live()).toEqual([]);
    });

    test('C5: a late start in unknown state that cannot be stopped does not block the kill; its preStop hook ends', async () => {
      const { machine, hook, kill } = await unseen((one) => ({
        containerStatus: unknown(one),
        stopContainer: () =>
          Promise.reject(new CriError({ rpc: 'StopContainer', code: 'INTERNAL', details: 'unknown state' })),
      }));
      await machine.settle(kill());
      expect(machine.live()).toEqual([]);
      expect(hook).toEqual({ begun: 1, ended: 1 });
    });
  });

  test('C6: a container whose start completes and exits between the status read and the creation does not run again', async () => {
    const script: Script = () => ({ exitAfterMs: 100, exitCode: 1 });
    const machine = new Machine({ runtime: { script } });
    machine.cri.faults.add(lateStart);
    const kubelet = machine.kubelet();
    const task = pod({ restartPolicy: 'Never', containers: [sleeper('a'), sleeper('b')] });
    await machine.sync(kubelet, task);
    const before = await machine.status(kubelet, task);
    await machine.clock.advance(1_000);
    const result = await machine.settle(kubelet.syncPod(task, before, new AbortController().signal));
    expect(result.error?.message).toContain("has run and exited since the pod's status was read");
    await machine.sync(kubelet, task);
    const { containers } = await machine.status(kubelet, task);
    expect(containers.map(({ name, restartCount }) => `${name}/${restartCount}`).sort()).toEqual(['a/0', 'b/0']);
  });

  test('C1: a sandbox whose creation response was lost is used immediately, without a failure', async () => {
    const machine = new Machine();
    machine.cri.faults.add({ rpc: 'runPodSandbox', times: 1, fault: { kind: 'answerLost' } });
    expect((await machine.sync(machine.kubelet(), web)).error).toBeUndefined();
    expect(machine.live()).toEqual(['a/0']);
    expect(machine.events.filter((event) => event.startsWith('Warning'))).toEqual([]);
  });

  test('C1: random faults never cause two containers of one name, and the pod runs afterwards', async () => {
    const fault = fc.oneof(
      fc.record({ kind: fc.constant('error' as const), code: fc.constantFrom(...codes) }),
      fc.record({ kind: fc.constant('answerLost' as const), code: fc.constantFrom(...codes) }),
      fc.record({
        kind: fc.constant('lateSuccess' as const),
        timeoutMs: fc.constantFrom(0, 50),
        workDelayMs: fc.constantFrom(0, 100, 2_000, 7_000),
      }),
    );
    const anyCall: readonly RpcName[] = [
      ...calls,
      'listContainers',
      'listPodSandbox',
      'containerStatus',
      'podSandboxStatus',
      'stopContainer',
      'stopPodSandbox',
      'removeContainer',
    ];
    const step = fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({ do: fc.constant('fault' as const), rpc: fc.constantFrom(...anyCall), fault }),
      },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('restartKubelet' as const) }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('crash' as const) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('killSandbox' as const) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('restartRuntime' as const) }) },
    );
    const rich = pod({
      initContainers: [sleeper('s', { restartPolicy: 'Always' }), once('i')],
      containers: [sleeper('a'), sleeper('b')],
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const machine = new Machine();
        let kubelet = machine.kubelet();
        for (const action of steps) {
          if (action.do === 'fault') machine.cri.faults.add({ rpc: action.rpc, times: 1, fault: action.fault });
          else if (action.do === 'restartKubelet') kubelet = machine.kubelet();
          else if (action.do === 'crash') {
            const [victim] = machine.cri.liveContainers();
            if (victim !== undefined) machine.cri.killContainer(victim.id);
          } else if (action.do === 'restartRuntime') {
            machine.cri.crash();
            machine.cri.recover();
          } else {
            const live = machine.cri.liveContainers()[0];
            if (live !== undefined) machine.cri.killSandbox(live.sandboxId);
          }
          await machine.sync(kubelet, rich).catch(() => {});
          expectNoTwins(machine);
          await machine.clock.advance(1_000);
          expectNoTwins(machine);
        }
        machine.cri.faults.clear();
        // Long enough for every back-off and for all late effects.
        for (let n = 0; n < 12; n++) {
          await machine.sync(kubelet, rich);
          expectNoTwins(machine);
          await machine.clock.advance(15_000);
        }
        expect(
          machine.cri
            .liveContainers()
            .map(({ name }) => name)
            .toSorted(),
        ).toEqual(['a', 'b', 's']);
      }),
      { numRuns: 150 },
    );
  });
});
