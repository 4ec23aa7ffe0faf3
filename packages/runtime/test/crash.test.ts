import { ContainerState, CriError, type CriErrorCode } from '@node-agent/cri-client';
import type { RpcFault, RpcName, Script } from '@node-agent/fake-cri';
import type { Pod } from '@node-agent/pod-spec';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AppliedResources } from '../src/applied-resources.ts';
import { type LifecycleHooks, noHooks } from '../src/index.ts';
import type { PodRuntimeComponents } from '../src/pod-runtime.ts';
import { pod } from './builders.ts';
import { Machine, once, sleeper } from './machine.ts';

type Cri = PodRuntimeComponents['cri'];

/** The runtime as one kubelet sees it that is killed at its `at`th call: before it is sent, or before it is answered. */
function killedAt(cri: Cri, at: number, sent: boolean): { readonly cri: Cri; readonly calls: () => number } {
  let calls = 0;
  const never = new Promise<never>(() => {});
  return {
    calls: () => calls,
    cri: new Proxy(cri, {
      get(target, name) {
        const method: unknown = Reflect.get(target, name, target);
        if (typeof method !== 'function') return method;
        return (...args: unknown[]) => {
          const index = calls++;
          if (index < at) return method.apply(target, args);
          if (index === at && sent) void Promise.resolve(method.apply(target, args)).catch(() => {});
          return never;
        };
      },
    }),
  };
}

/** C1, by what the runtime itself says. */
function expectNoTwins(machine: Machine): void {
  const names = machine.cri.liveContainers().map(({ podUid, name }) => `${podUid}/${name}`);
  expect(names.length, `two of one name: ${machine.live().join()}`).toBe(new Set(names).size);
}

async function converge(machine: Machine, web: Pod, rounds = 8): Promise<void> {
  const kubelet = machine.kubelet();
  for (let n = 0; n < rounds; n++) {
    await machine.sync(kubelet, web);
    expectNoTwins(machine);
    await machine.clock.advance(2_000);
    expectNoTwins(machine);
  }
}

describe('K1: the kubelet is killed at any call of the runtime', () => {
  const web = pod({ initContainers: [once('i')], containers: [sleeper('a'), sleeper('b')] });

  const starting = async (at: number, sent: boolean): Promise<boolean> => {
    const machine = new Machine();
    const killed = killedAt(machine.cri, at, sent);
    const first = machine.kubelet(killed.cri);
    const died = (async () => {
      for (let n = 0; n < 3; n++) {
        const status = await first.getPodStatus('uid-1', 'web', 'default');
        await first.syncPod(web, status, new AbortController().signal);
        await new Promise<void>((resolve) => machine.clock.setTimer(1_000, resolve));
      }
    })();
    void died.catch(() => {});
    await machine.clock.advance(5_000);
    const running = machine.cri.liveContainers().map(({ id }) => id);
    expectNoTwins(machine);
    await converge(machine, web);
    // Nothing was restarted without cause, nothing was doubled, and what ran was kept.
    expect(machine.live().toSorted()).toEqual(['a/0', 'b/0']);
    const ids = machine.cri.liveContainers().map(({ id }) => id);
    for (const id of running) expect(ids).toContain(id);
    const status = await machine.status(machine.kubelet(), web);
    expect(status.sandboxes.filter(({ state }) => state === 'ready')).toHaveLength(1);
    expect(status.containers.map(({ name, restartCount }) => `${name}/${restartCount}`).toSorted()).toEqual([
      'a/0',
      'b/0',
      'i/0',
    ]);
    return killed.calls() > at;
  };

  test.each([true, false])(
    'K1: the next one makes one pod of it, whatever was under way (call sent: %s)',
    async (sent) => {
      let points = 0;
      while (await starting(points, sent)) points++;
      // Three rounds of lists, statuses, a sandbox, and four calls for each of three containers.
      expect(points).toBeGreaterThan(20);
    },
  );

  test('K1: while all containers begin anew: the next one goes on, and each starts once more', async () => {
    const rules = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }];
    // It exits with 42 once, and stays up afterwards.
    const script: Script = ({ name, attempt }) =>
      name === 'a' && attempt === 0 ? { exitAfterMs: 1, exitCode: 42 } : {};
    const all = pod({
      restartPolicy: 'Never',
      containers: [sleeper('a', { restartPolicy: 'Never', restartPolicyRules: rules }), sleeper('b'), sleeper('c')],
    });
    for (let at = 0; at < 16; at++) {
      const machine = new Machine({ runtime: { script } });
      await machine.sync(machine.kubelet(), all);
      await machine.clock.advance(10);
      const first = machine.kubelet(killedAt(machine.cri, at, true).cri);
      void (async () => {
        const status = await first.getPodStatus('uid-1', 'web', 'default');
        await first.syncPod(all, status, new AbortController().signal);
      })();
      await machine.clock.advance(5_000);
      await converge(machine, all, 4);
      expect(machine.live().toSorted()).toEqual(['a/1', 'b/1', 'c/1']);
    }
  });

  test('K1: in the middle of termination: the next one stops everything', async () => {
    for (let at = 0; at < 6; at++) {
      const machine = new Machine();
      await converge(machine, web, 3);
      const killed = killedAt(machine.cri, at, true);
      const [runningPod] = await machine.settle(machine.kubelet().getPods());
      if (runningPod === undefined) throw new Error('no pod');
      const signal = new AbortController().signal;
      void machine
        .kubelet(killed.cri)
        .killPod(web, runningPod, 5, signal)
        .catch(() => {});
      await machine.clock.advance(100);
      await machine.settle(machine.kubelet().killPod(web, runningPod, 5, signal));
      expect(machine.live()).toEqual([]);
    }
  });
});

describe('K1: a start that was broken off', () => {
  const message = 'failed to create containerd task: failed to create shim task: context canceled: unknown';

  test('K1: is no failure of its container: a pod that runs once still runs, and counts no restart', async () => {
    let first = true;
    const script: Script = () => {
      const broken = first;
      first = false;
      return broken ? { startError: message } : {};
    };
    const machine = new Machine({ runtime: { script } });
    const task = pod({ restartPolicy: 'Never', containers: [sleeper('a')] });
    await machine.sync(machine.kubelet(), task);
    expect(machine.live()).toEqual([]);
    const next = machine.kubelet();
    await machine.sync(next, task);
    expect(machine.live()).toEqual(['a/0']);
    expect((await machine.status(next, task)).containers).toHaveLength(1);
  });

  test('C6: one that comes late, while its removal is made ready is kept', async () => {
    const machine = new Machine();
    const late = { kind: 'lateSuccess', timeoutMs: 100, workDelayMs: 2_000 } as const;
    machine.cri.faults.add({ rpc: 'startContainer', times: 1, fault: late });
    const kubelet = machine.kubelet();
    const task = pod({ restartPolicy: 'Never', containers: [sleeper('a')] });
    await machine.sync(kubelet, task);
    const { containers } = await machine.status(kubelet, task);
    expect(containers).toMatchObject([{ state: 'created' }]);
    machine.cri.faults.add({ rpc: 'containerStatus', times: 1, fault: { kind: 'delay', delayMs: 8_000 } });
    const id = containers[0]?.id ?? '';
    const removed = machine.settle(kubelet.removeContainer(id, new AbortController().signal));
    await expect(removed).rejects.toMatchObject({ code: 'Running' });
    expect(machine.live()).toEqual(['a/0']);
  });

  test('C1: nothing is created beside what the runtime will not remove, until it is given up after five minutes', async () => {
    const machine = new Machine();
    machine.cri.faults.add({ rpc: 'startContainer', times: 1, fault: { kind: 'error', code: 'UNAVAILABLE' } });
    const busy = "container is in starting state, can't be removed";
    machine.cri.faults.add({ rpc: 'removeContainer', fault: { kind: 'error', code: 'UNKNOWN', message: busy } });
    const kubelet = machine.kubelet();
    const web = pod({ containers: [sleeper('a')] });
    await machine.sync(kubelet, web);
    const soon = await machine.sync(kubelet, web);
    // The runtime will be done with it in a moment.
    expect((soon.error?.retryAtMs ?? 0) - machine.clock.monotonic()).toBe(1_000);
    for (let n = 0; n < 29; n++) {
      await machine.clock.advance(10_000);
      await machine.sync(kubelet, web);
      expect(machine.live()).toEqual([]);
    }
    await machine.clock.advance(10_000);
    await machine.sync(kubelet, web);
    await machine.sync(kubelet, web);
    expect(machine.live()).toEqual(['a/1']);
  });

  test("K1: one whose start is over, and that the runtime will not remove, is in nobody's way: the next takes its place, and its own", async () => {
    const lives = [{ startError: message }, { exitAfterMs: 1_000 }, {}];
    const machine = new Machine({ runtime: { script: () => lives.shift() ?? {} } });
    const leaked = 'failed to delete containerd container: cannot delete running task: failed precondition';
    const fault = { kind: 'error', code: 'FAILED_PRECONDITION', message: leaked } as const;
    machine.cri.faults.add({ rpc: 'removeContainer', fault });
    const web = pod({ containers: [sleeper('a')] });
    await machine.sync(machine.kubelet(), web);
    expect(machine.live()).toEqual([]);
    const kubelet = machine.kubelet();
    expect((await machine.sync(kubelet, web)).error).toBeUndefined();
    expect(machine.live()).toEqual(['a/1']);
    expect((await machine.sync(kubelet, web)).results).toEqual([]);
    expect((await machine.status(kubelet, web)).containers).toMatchObject([
      { state: 'running', restartCount: 1 },
      { state: 'created', restartCount: 0 },
    ]);

    await machine.clock.advance(60_000);
    expect(machine.live()).toEqual([]);
    expect((await machine.sync(kubelet, web)).error).toBeUndefined();
    expect(machine.live()).toEqual(['a/2']);
    const [known] = await machine.settle(kubelet.getPods());
    if (known === undefined) throw new Error('the pod is gone');
    await machine.settle(kubelet.killPod(web, known, undefined, new AbortController().signal));
    expect(machine.live()).toEqual([]);
  });

  test('C1: a start that turns out to be broken off between the look and the create is no attempt', async () => {
    let first = true;
    const script: Script = () => {
      const broken = first;
      first = false;
      return broken ? { startError: message } : {};
    };
    const machine = new Machine({ runtime: { script } });
    const late = { kind: 'lateSuccess', timeoutMs: 10, workDelayMs: 500 } as const;
    machine.cri.faults.add({ rpc: 'startContainer', times: 1, fault: late });
    const kubelet = machine.kubelet();
    const web = pod({ containers: [sleeper('a')] });
    await machine.sync(kubelet, web);
    const before = await machine.status(kubelet, web);
    await machine.clock.advance(1_000);
    await machine.settle(kubelet.syncPod(web, before, new AbortController().signal));
    expect(machine.live()).toEqual(['a/0']);
    expect((await machine.status(kubelet, web)).containers).toHaveLength(1);
  });

  test('a start that fails for a reason of its own is a failure', async () => {
    const script: Script = () => ({ startError: 'exec: "nope": executable file not found in $PATH' });
    const machine = new Machine({ runtime: { script } });
    const task = pod({ restartPolicy: 'Never', containers: [sleeper('a')] });
    const kubelet = machine.kubelet();
    await machine.sync(kubelet, task);
    expect((await machine.status(kubelet, task)).containers).toMatchObject([{ state: 'exited', exitCode: 128 }]);
    expect((await machine.sync(kubelet, task)).results).toMatchObject([{ action: 'KillPodSandbox' }]);
  });

  test('one that nobody wants any more is waited for, for five seconds', async () => {
    const machine = new Machine({ runtime: { latencies: { startContainerMs: 1_000 } } });
    const kubelet = machine.kubelet();
    const task = pod({ containers: [sleeper('a'), sleeper('b')] });
    const stop = new AbortController();
    machine.clock.setTimer(500, () => stop.abort(new Error('the pod is to end')));
    const result = await machine.sync(kubelet, task, stop.signal);
    expect(result.error).toBeUndefined();
    expect(machine.live().toSorted()).toEqual(['a/0', 'b/0']);

    machine.cri.faults.add({ rpc: 'runPodSandbox', fault: { kind: 'hang' } });
    const other = pod({ containers: [sleeper('a')] }, { uid: 'uid-2', name: 'other' });
    const stopOther = new AbortController();
    machine.clock.setTimer(500, () => stopOther.abort(new Error('the pod is to end')));
    const startMs = machine.clock.monotonic();
    await machine.sync(kubelet, other, stopOther.signal);
    expect(machine.clock.monotonic() - startMs).toBe(5_500);
  });
});

describe('C1: an answer is lost', () => {
  const web = pod({ containers: [sleeper('a')] });
  const codes: readonly CriErrorCode[] = ['DEADLINE_EXCEEDED', 'UNAVAILABLE', 'CANCELLED', 'UNKNOWN', 'INTERNAL'];
  const calls: readonly RpcName[] = ['runPodSandbox', 'createContainer', 'startContainer'];

  test.each(calls.flatMap((rpc) => codes.map((code) => [rpc, code] as const)))(
    'C1: %s went through, %s was the answer: one sandbox, one container, no restart counted',
    async (rpc, code) => {
      const machine = new Machine();
      machine.cri.faults.add({ rpc, times: 1, fault: { kind: 'answerLost', code } });
      await converge(machine, web, 4);
      expect(machine.live()).toEqual(['a/0']);
      const { sandboxes } = await machine.status(machine.kubelet(), web);
      expect(sandboxes.filter(({ state }) => state === 'ready')).toHaveLength(1);
    },
  );

  test.each(calls)('C1: %s times out here and goes through in the runtime later', async (rpc) => {
    for (const workDelayMs of [100, 1_500, 2_500, 5_000, 9_000]) {
      const machine = new Machine();
      machine.cri.faults.add({ rpc, times: 1, fault: { kind: 'lateSuccess', timeoutMs: 50, workDelayMs } });
      await converge(machine, web, 12);
      expect(machine.live()).toHaveLength(1);
    }
  });

  test('C1: the kubelet restarts while a lost start is still at work', async () => {
    const machine = new Machine({ runtime: { latencies: { startContainerMs: 3_000 } } });
    machine.cri.faults.add({ rpc: 'startContainer', times: 1, fault: { kind: 'lateSuccess', timeoutMs: 10 } });
    const kubelet = machine.kubelet();
    await machine.sync(kubelet, web);
    expect(machine.live()).toEqual([]);
    await converge(machine, web, 6);
    expect(machine.live()).toEqual(['a/0']);
  });

  test('C1: a lost start that goes through between the look and the create is kept', async () => {
    const machine = new Machine();
    machine.cri.faults.add({
      rpc: 'startContainer',
      times: 1,
      fault: { kind: 'lateSuccess', timeoutMs: 10, workDelayMs: 500 },
    });
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
    ['that goes through before the pod is killed, unseen, is told to stop', 1_000, 1],
    ['that is at work when the pod is killed is nothing to tell of', 0, 0],
  ])('C5: a lost start %s', async (_name, waitMs, told) => {
    const machine = new Machine({ runtime: { script: () => ({ termExitCode: 7 }) } });
    machine.cri.faults.add({
      rpc: 'startContainer',
      times: 1,
      fault: { kind: 'lateSuccess', timeoutMs: 10, workDelayMs: 500 },
    });
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

  describe('C5: before the sandbox of a pod goes, what may have started late is asked for', () => {
    const two = pod({ terminationGracePeriodSeconds: 30, containers: [sleeper('a'), sleeper('b')] });

    /** A pod of which `a` runs and takes 5 s to stop, and `b` was created, and starts 500 ms after the kill has begun if at all. */
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

    test('a start that goes through while others use their grace has its own after them', async () => {
      const { machine, kill } = await half(500);
      expect(await kill()).toBe(10_000);
      expect(await exits(machine)).toEqual({ a: 7, b: 7 });
    });

    test.each<[string, RpcFault, number]>([
      ['hangs', { kind: 'hang' }, 7_000],
      ['fails', { kind: 'error', code: 'UNAVAILABLE' }, 5_000],
    ])(
      'where the answer %s, nobody waits for it longer than 2 s, and no hook or event is told',
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

  test('what is to be applied to a container is not taken for applied while the one before it is in the way', async () => {
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

  test('C2: which attempt comes next is known when all records are gone, and the next container cannot be made yet', async () => {
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
    // As garbage collection takes it for one dead container too many.
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

  test('C4: what has started late, though it was taken for created, ends before the sidecars', async () => {
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

  test('C5: whoever runs is told to stop at once, though the runtime does not say who has started late; sidecars wait for that for 2 s', async () => {
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

  describe('C5: what has started late, though it was taken for created', () => {
    const hooked = pod({
      terminationGracePeriodSeconds: 30,
      containers: [sleeper('a', { lifecycle: { preStop: { exec: { command: ['drain'] } } } })],
    });

    /** A pod whose only container has started late, unseen; what is said of it, and of its stop, is what `says` puts in place. */
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
    ])('is told to stop by the next kill, though its status then %s, and its hook ends', async (_name, answer) => {
      const { machine, hook, over, kill } = await begun();
      Object.assign(over, { containerStatus: answer });
      await machine.settle(kill());
      expect(hook).toEqual({ begun: 1, ended: 1 });
      const { containers } = await machine.status(machine.kubelet(), hooked);
      expect(containers.map(({ exitCode }) => exitCode)).toEqual([7]);
    });

    /** The first kill has begun the hook, and is broken off after 5 s. */
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

    test('is told to stop though nothing is known of it any more and it cannot be stopped at first', async () => {
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

    test('is waited for no longer when it is gone, and its hook ends', async () => {
      const { machine, hook, over, kill } = await begun();
      const gone = () => Promise.reject(new CriError({ rpc: 'ContainerStatus', code: 'NOT_FOUND', details: 'gone' }));
      Object.assign(over, { containerStatus: gone, stopContainer: gone });
      const told = (): number => machine.events.filter((event) => event.includes('Killing')).length;
      const [before, startMs] = [told(), machine.clock.monotonic()];
      await machine.settle(kill());
      expect([machine.clock.monotonic() - startMs, told() - before]).toEqual([0, 0]);
      expect(hook).toEqual({ begun: 1, ended: 1 });
    });

    test('that was never found to run, and cannot be asked any more, is no obstacle', async () => {
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

    test('is no obstacle where nothing is known of it and it cannot be stopped; its hook ends', async () => {
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

  test('C6: a lost start that goes through and ends between the look and the create is not started again unseen', async () => {
    const script: Script = () => ({ exitAfterMs: 100, exitCode: 1 });
    const machine = new Machine({ runtime: { script } });
    machine.cri.faults.add({
      rpc: 'startContainer',
      times: 1,
      fault: { kind: 'lateSuccess', timeoutMs: 10, workDelayMs: 500 },
    });
    const kubelet = machine.kubelet();
    const task = pod({ restartPolicy: 'Never', containers: [sleeper('a'), sleeper('b')] });
    await machine.sync(kubelet, task);
    const before = await machine.status(kubelet, task);
    await machine.clock.advance(1_000);
    const result = await machine.settle(kubelet.syncPod(task, before, new AbortController().signal));
    expect(result.error?.message).toContain('has run and ended since the pod was looked at');
    await machine.sync(kubelet, task);
    const { containers } = await machine.status(kubelet, task);
    expect(containers.map(({ name, restartCount }) => `${name}/${restartCount}`).sort()).toEqual(['a/0', 'b/0']);
  });

  test('C1: a sandbox whose answer was lost is taken at once, and is no failure', async () => {
    const machine = new Machine();
    machine.cri.faults.add({ rpc: 'runPodSandbox', times: 1, fault: { kind: 'answerLost' } });
    expect((await machine.sync(machine.kubelet(), web)).error).toBeUndefined();
    expect(machine.live()).toEqual(['a/0']);
    expect(machine.events.filter((event) => event.startsWith('Warning'))).toEqual([]);
  });

  test('C1: random faults never lead to two containers of one name, and the pod runs once they are over', async () => {
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
        // Long enough for every back-off, and for what was late.
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
