import { MemoryFileSystem } from '@node-agent/host/testing';
import { defaultRestartFeatures, type Pod, shouldStart } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { currentStatus } from '../src/actions/current-status.ts';
import type { LifecycleHooks } from '../src/index.ts';
import { pod } from './builders.ts';
import { killedAt } from './kills.ts';
import { Machine, type MachineOptions, sleeper } from './machine.ts';

const probe = { exec: { command: ['true'] } };
/** Exits with code 0 on SIGTERM. */
const polite: MachineOptions = { runtime: { script: () => ({ termExitCode: 0 }) } };

const job = (extra: Partial<Pod['spec']> = {}): Pod =>
  pod({
    restartPolicy: 'OnFailure',
    containers: [sleeper('a', { livenessProbe: probe, startupProbe: probe })],
    ...extra,
  });

function fail(machine: Machine, kind: 'liveness' | 'startup' = 'liveness'): void {
  for (const { id, name } of machine.cri.liveContainers()) if (name === 'a') machine[kind].set(id, 'failure');
}

describe('restarts after a failed liveness probe', () => {
  test('C2: restarts after a failed liveness probe wait 0, 10, 20 and 40 s, like restarts after crashes', async () => {
    const machine = new Machine(polite);
    const kubelet = machine.kubelet();
    const web = pod({ containers: [sleeper('a', { livenessProbe: probe })] });
    await machine.sync(kubelet, web);
    const waits: number[] = [];
    for (let n = 0; n < 5; n++) {
      await machine.clock.advance(10_000);
      fail(machine);
      await machine.sync(kubelet, web);
      let waitedMs = 0;
      while (machine.live().length === 0) {
        await machine.clock.advance(1_000);
        waitedMs += 1_000;
        await machine.sync(kubelet, web);
      }
      waits.push(waitedMs);
    }
    expect(waits).toEqual([0, 10_000, 20_000, 40_000, 80_000]);
  });

  test('C2: a restart after a failed liveness probe does not wait if the container ran for ten minutes', async () => {
    const machine = new Machine(polite);
    const kubelet = machine.kubelet();
    await machine.sync(kubelet, job());
    for (let n = 0; n < 4; n++) {
      await machine.clock.advance(601_000);
      fail(machine);
      await machine.sync(kubelet, job());
      expect(machine.live()).toEqual([`a/${n + 1}`]);
    }
  });

  test('C6: a sync that stops a container for its liveness probe leaves a restart of all containers, which another exit requested, to the next sync', async () => {
    const rules = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [0] } }];
    const containers = [
      sleeper('a', { livenessProbe: probe, restartPolicy: 'Never', restartPolicyRules: rules }),
      sleeper('b'),
    ];
    const machine = new Machine(polite);
    const kubelet = machine.kubelet();
    const web = pod({ containers });
    await machine.sync(kubelet, web);
    fail(machine);
    const result = await machine.sync(kubelet, web);
    expect(result.isOutdated).toBe(true);
    expect(machine.live()).toEqual(['b/0']);
  });
});

describe('C6: container that the kubelet stopped for a restart and that exited with code 0', () => {
  /** Makes the probe fail twice, so that the second restart is delayed. */
  async function delayed(machine: Machine, web: Pod, kind: 'liveness' | 'startup') {
    const kubelet = machine.kubelet();
    await machine.sync(kubelet, web);
    for (let n = 0; n < 2; n++) {
      fail(machine, kind);
      await machine.sync(kubelet, web);
    }
    expect(machine.live()).toEqual([]);
    return kubelet;
  }

  test.each(['liveness', 'startup'] as const)(
    'C6: a container that exits with 0 after its %s probe failed restarts after its back-off, despite policy OnFailure',
    async (kind) => {
      const machine = new Machine(polite);
      const kubelet = await delayed(machine, job(), kind);
      const { containers } = await machine.status(kubelet, job());
      expect(currentStatus(containers, 'a')).toMatchObject({ state: 'exited', exitCode: 0, restartCount: 1 });
      await machine.clock.advance(10_000);
      await machine.sync(kubelet, job());
      expect(machine.live()).toEqual(['a/2']);
    },
  );

  test.each(['liveness', 'startup'] as const)(
    'K1: a container that exits with 0 after its %s probe failed is restarted by a kubelet that started after the stop',
    async (kind) => {
      const machine = new Machine(polite);
      await delayed(machine, job(), kind);
      // The runtime's timestamps of simultaneous changes differ by nanoseconds.
      await machine.clock.advance(10_001);
      await machine.sync(machine.kubelet(), job());
      expect(machine.live()).toEqual(['a/2']);
    },
  );

  test('C6: a kubelet that cannot read the notes of a pod at first restarts its container later, and delays no other pod', async () => {
    const files = new MemoryFileSystem();
    const machine = new Machine({ ...polite, components: { fs: files } });
    await delayed(machine, job(), 'liveness');
    await machine.clock.advance(10_001);
    const next = machine.kubelet();
    const path = '/var/lib/kubelet/pods/uid-1/containers/.notes.json';
    const fault = files.injectFault({ code: 'EIO', path, times: Number.POSITIVE_INFINITY });
    await expect(machine.status(next, job())).rejects.toMatchObject({ code: 'UnreadableNotes' });
    const other = { ...pod({ containers: [sleeper('b')] }), metadata: { ...pod().metadata, uid: 'uid-2', name: 'db' } };
    await machine.sync(next, other);
    expect(machine.live()).toEqual(['b/0']);
    fault.remove();
    await machine.sync(next, job());
    expect(machine.live()).toEqual(['b/0', 'a/2']);
  });

  test('C6: no container of a pod starts while the notes of the pod cannot be read', async () => {
    const files = new MemoryFileSystem();
    const machine = new Machine({ ...polite, components: { fs: files } });
    await delayed(machine, job(), 'liveness');
    await machine.clock.advance(10_001);
    const next = machine.kubelet();
    const status = await machine.status(next, job());
    files.injectFault({ code: 'EIO', path: '/var/lib/kubelet/pods/uid-1/containers/.notes.json' });
    const result = await machine.settle(next.syncPod(job(), status, new AbortController().signal));
    expect(result.error).toMatchObject({
      message: expect.stringContaining('read notes about containers of pod uid-1'),
    });
    expect(machine.live()).toEqual([]);
  });

  test('a container that exited with code 0 without being stopped does not restart under OnFailure', async () => {
    const machine = new Machine(polite);
    const kubelet = await delayed(machine, job(), 'liveness');
    await machine.clock.advance(10_000);
    await machine.sync(kubelet, job());
    const [live] = machine.cri.liveContainers();
    machine.cri.killContainer(live?.id ?? '', { exitCode: 0 });
    await machine.clock.advance(60_000);
    await machine.sync(kubelet, job());
    await machine.sync(machine.kubelet(), job());
    expect(machine.live()).toEqual([]);
  });

  test('a container that was stopped because its definition changed restarts despite policy Never, even if CreateContainer failed once', async () => {
    const machine = new Machine(polite);
    const kubelet = machine.kubelet();
    const never = (image: string): Pod => pod({ restartPolicy: 'Never', containers: [sleeper('a', { image })] });
    await machine.sync(kubelet, never('busybox'));
    machine.cri.faults.add({ rpc: 'createContainer', times: 1, fault: { kind: 'error', code: 'UNKNOWN' } });
    await machine.sync(kubelet, never('busybox:latest'));
    expect(machine.live()).toEqual([]);
    await machine.sync(machine.kubelet(), never('busybox:latest'));
    expect(machine.live()).toEqual(['a/1']);
  });

  test('a container that was stopped for a restart restarts in a new sandbox although RunPodSandbox failed at first', async () => {
    const machine = new Machine(polite);
    const kubelet = machine.kubelet();
    const network = (hostNetwork: boolean): Pod => job({ hostNetwork });
    await machine.sync(kubelet, network(false));
    machine.cri.faults.add({ rpc: 'runPodSandbox', times: 1, fault: { kind: 'error', code: 'UNKNOWN' } });
    await machine.sync(kubelet, network(true));
    expect(machine.live()).toEqual([]);
    await machine.sync(machine.kubelet(), network(true));
    expect(machine.live()).toEqual(['a/1']);
  });

  test('a container restarts after it was stopped because its postStart hook failed', async () => {
    const hooks: LifecycleHooks = { postStart: () => Promise.reject(new Error('no')), preStop: async () => {} };
    const machine = new Machine({ ...polite, hooks });
    const kubelet = machine.kubelet();
    const hooked = pod({
      restartPolicy: 'OnFailure',
      containers: [sleeper('a', { lifecycle: { postStart: probe } })],
    });
    await machine.sync(kubelet, hooked);
    const { containers } = await machine.status(kubelet, hooked);
    const ended = currentStatus(containers, 'a');
    expect(ended).toMatchObject({ state: 'exited', exitCode: 0 });
    expect(shouldStart(hooked, sleeper('a'), ended, defaultRestartFeatures)).toBe(true);
  });

  test('K1: a container that was stopped for a restart restarts once, whenever the kubelet was killed', async () => {
    let points = 0;
    for (; ; points++) {
      for (const sent of [true, false]) {
        const machine = new Machine(polite);
        const first = machine.kubelet();
        await machine.sync(first, job());
        fail(machine);
        const killed = killedAt(machine.cri, points, sent);
        // The probe results belong to the kubelet that is killed; the next kubelet has not probed yet.
        const second = machine.kubelet(killed.cri);
        const died = (async () => {
          const status = await second.getPodStatus('uid-1', 'web', 'default');
          await second.syncPod(job(), status, new AbortController().signal);
        })();
        void died.catch(() => {});
        await machine.clock.advance(5_000);
        machine.liveness.clear();
        const third = machine.kubelet();
        for (let n = 0; n < 4; n++) {
          await machine.sync(third, job());
          await machine.clock.advance(2_000);
        }
        const [live] = machine.live();
        // `a/0` runs if the kubelet was killed before it decided to restart the container.
        expect(['a/0', 'a/1']).toContain(live);
        if (killed.calls() <= points) return expect(points).toBeGreaterThan(8);
      }
    }
  });

  test('K1: the next kubelet stops a container for a restart if StopContainer did not reach the runtime', async () => {
    const machine = new Machine(polite);
    await machine.sync(machine.kubelet(), job());
    fail(machine);
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
    const cri = new Proxy(machine.cri, {
      get(target, name) {
        const method: unknown = Reflect.get(target, name, target);
        if (name === 'stopContainer') {
          return () => {
            ask();
            return new Promise(() => {});
          };
        }
        return typeof method === 'function' ? method.bind(target) : method;
      },
    });
    const second = machine.kubelet(cri);
    const status = await machine.status(second, job());
    void second.syncPod(job(), status, new AbortController().signal);
    await machine.settle(asked);
    machine.liveness.clear();
    await machine.sync(machine.kubelet(), job());
    expect(machine.live()).toEqual(['a/1']);
    const kills = machine.events.filter((event) => event.includes(' Killing '));
    const text = 'Normal Killing containers{a}: Container a failed liveness probe, will be restarted';
    expect(kills).toEqual([text, text]);
  });

  const refused = { kind: 'error', code: 'UNKNOWN' } as const;

  /** Syncs by the same kubelet or the next one, until all back-offs are over. */
  async function later(machine: Machine, web: Pod, kubelet = machine.kubelet()): Promise<readonly string[]> {
    for (let n = 0; n < 4; n++) {
      await machine.clock.advance(20_001);
      await machine.sync(kubelet, web);
    }
    return machine.live();
  }

  test.each(['the same', 'the next'])(
    'C6: a container that was stopped for a restart is started by %s kubelet although StartContainer failed',
    async (which) => {
      let isFirst = true;
      const hooks: LifecycleHooks = {
        async postStart() {
          if (!isFirst) return;
          isFirst = false;
          throw new Error('no');
        },
        preStop: async () => {},
      };
      const machine = new Machine({ ...polite, hooks });
      const kubelet = machine.kubelet();
      const hooked = pod({
        restartPolicy: 'OnFailure',
        containers: [sleeper('a', { lifecycle: { postStart: probe } })],
      });
      await machine.sync(kubelet, hooked);
      await machine.clock.advance(20_001);
      machine.cri.faults.add({ rpc: 'startContainer', times: 1, fault: refused });
      await machine.sync(kubelet, hooked);
      expect(machine.live()).toEqual([]);
      expect(await later(machine, hooked, which === 'the same' ? kubelet : undefined)).toEqual(['a/1']);
    },
  );

  test.each(['the same', 'the next'])(
    'C6: a container that was stopped for a restart is started by %s kubelet although StartContainer and CreateContainer failed',
    async (which) => {
      const machine = new Machine(polite);
      const kubelet = machine.kubelet();
      await machine.sync(kubelet, job());
      fail(machine);
      machine.cri.faults.add({ rpc: 'startContainer', times: 1, fault: refused });
      await machine.sync(kubelet, job());
      await machine.clock.advance(20_001);
      machine.cri.faults.add({ rpc: 'createContainer', times: 1, fault: refused });
      await machine.sync(kubelet, job());
      expect(machine.live()).toEqual([]);
      expect(await later(machine, job(), which === 'the same' ? kubelet : undefined)).toEqual(['a/1']);
    },
  );

  test('C6: a container is stopped and restarted even if notes about the restart cannot be written', async () => {
    const machine = new Machine(polite);
    const kubelet = machine.kubelet();
    await machine.sync(kubelet, job());
    machine.fs.injectFault({
      code: 'ENOSPC',
      path: '/var/lib/kubelet/pods/uid-1/containers',
      operation: 'write',
      times: 9,
    });
    fail(machine);
    await machine.sync(kubelet, job());
    fail(machine);
    await machine.sync(kubelet, job());
    await machine.clock.advance(10_000);
    await machine.sync(kubelet, job());
    expect(machine.live()).toEqual(['a/2']);
  });
});
