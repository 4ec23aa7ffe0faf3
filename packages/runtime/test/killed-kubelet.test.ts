import { ContainerState } from '@node-agent/cri-client';
import type { Script } from '@node-agent/fake-cri';
import { describe, expect, test } from 'vitest';
import { pod } from './builders.ts';
import { converge, expectNoTwins, killedAt } from './kills.ts';
import { Machine, once, sleeper } from './machine.ts';

describe('K1: a kubelet that is killed at any runtime call', () => {
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
    // No container was restarted without a reason or started twice, and running containers kept running.
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
    'K1: after a kill at any runtime call, the next kubelet brings the pod to the same state (call reached the runtime: %s)',
    async (sent) => {
      let points = 0;
      while (await starting(points, sent)) points++;
      // The start makes more than 20 calls: three syncs with lists and statuses, one sandbox, and four calls for each
      // of three containers.
      expect(points).toBeGreaterThan(20);
    },
  );

  test('K1: the next kubelet continues a restart of all containers, and each container starts once', async () => {
    const rules = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }];
    // The first run of `a` exits with code 42, the later runs keep running.
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

  test('K1: the next kubelet completes the termination of a pod', async () => {
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

describe('K1: a container start that a kill of the kubelet interrupted', () => {
  const message = 'failed to create containerd task: failed to create shim task: context canceled: unknown';
  /** Returns a script that interrupts the first container start. */
  const breaksFirstStart = (): Script => {
    let first = true;
    return () => {
      const broken = first;
      first = false;
      return broken ? { startError: message } : {};
    };
  };

  test('K1: an interrupted start does not count as a failure, so a run-once pod still runs without a restart count', async () => {
    const machine = new Machine({ runtime: { script: breaksFirstStart() } });
    const task = pod({ restartPolicy: 'Never', containers: [sleeper('a')] });
    await machine.sync(machine.kubelet(), task);
    expect(machine.live()).toEqual([]);
    const next = machine.kubelet();
    await machine.sync(next, task);
    expect(machine.live()).toEqual(['a/0']);
    expect((await machine.status(next, task)).containers).toHaveLength(1);
  });

  test('C2: an interrupted start leaves a container that never ran, however the runtime lists it', async () => {
    const machine = new Machine({ runtime: { script: breaksFirstStart() } });
    const task = pod({ containers: [sleeper('a'), sleeper('b')] });
    const kubelet = machine.kubelet();
    await machine.sync(kubelet, task);
    const { containers } = await machine.status(kubelet, task);
    const never = Promise.all(
      [...containers.map(({ id }) => id), 'gone'].map((id) => kubelet.hasNeverRun(id, new AbortController().signal)),
    );
    expect([...(await machine.settle(never))].toSorted()).toEqual([false, false, true]);
    const { containers: listed } = await machine.settle(machine.cri.listContainers({}));
    expect(listed.map(({ state }) => state)).toContain(ContainerState.CONTAINER_EXITED);
  });

  test('C6: a container whose interrupted start completes while its removal is being prepared is kept', async () => {
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

  test('C1: a container that cannot be removed after an interrupted start blocks its successor for five minutes', async () => {
    const machine = new Machine();
    machine.cri.faults.add({ rpc: 'startContainer', times: 1, fault: { kind: 'error', code: 'UNAVAILABLE' } });
    const busy = "container is in starting state, can't be removed";
    machine.cri.faults.add({ rpc: 'removeContainer', fault: { kind: 'error', code: 'UNKNOWN', message: busy } });
    const kubelet = machine.kubelet();
    const web = pod({ containers: [sleeper('a')] });
    await machine.sync(kubelet, web);
    const soon = await machine.sync(kubelet, web);
    // The retry comes soon, because the runtime should finish the start in a moment.
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

  test('K1: a container that cannot be removed does not block its successor if its interrupted start is known to be over', async () => {
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

  test('P7: a container that cannot be removed after an interrupted start does not block a restart of all containers', async () => {
    const rules = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }];
    const lives = [{ startError: message }, {}, { exitAfterMs: 1_000, exitCode: 42 }];
    const machine = new Machine({ runtime: { script: () => lives.shift() ?? {} } });
    const leaked = 'failed to delete containerd container: cannot delete running task: failed precondition';
    const isFirst = (request: unknown): boolean => (request as { containerId: string }).containerId === first;
    const fault = { kind: 'error', code: 'FAILED_PRECONDITION', message: leaked } as const;
    machine.cri.faults.add({ rpc: 'removeContainer', when: isFirst, fault });
    const web = pod({
      restartPolicy: 'Never',
      initContainers: [sleeper('s', { restartPolicy: 'Always' })],
      containers: [sleeper('a', { restartPolicy: 'Never', restartPolicyRules: rules })],
    });
    await machine.sync(machine.kubelet(), web);
    const kubelet = machine.kubelet();
    const first = (await machine.status(kubelet, web)).containers[0]?.id;
    for (let n = 0; n < 3; n++) await machine.sync(kubelet, web);
    expect(machine.live().toSorted()).toEqual(['a/0', 's/1']);
    await machine.clock.advance(2_000);
    for (let n = 0; n < 3; n++) expect((await machine.sync(kubelet, web)).error).toBeUndefined();
    expect(machine.live().toSorted()).toEqual(['a/1', 's/1']);
  });

  test('C1: a start that is interrupted between the status read and the creation does not count as an attempt', async () => {
    const machine = new Machine({ runtime: { script: breaksFirstStart() } });
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

  test('a start that fails for a reason other than an interruption counts as a failure', async () => {
    const script: Script = () => ({ startError: 'exec: "nope": executable file not found in $PATH' });
    const machine = new Machine({ runtime: { script } });
    const task = pod({ restartPolicy: 'Never', containers: [sleeper('a')] });
    const kubelet = machine.kubelet();
    await machine.sync(kubelet, task);
    expect((await machine.status(kubelet, task)).containers).toMatchObject([{ state: 'exited', exitCode: 128 }]);
    expect((await machine.sync(kubelet, task)).results).toMatchObject([{ action: 'KillPodSandbox' }]);
  });

  test('an aborted sync waits up to five seconds for start calls that are already in progress', async () => {
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
