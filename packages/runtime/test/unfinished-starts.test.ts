import type { RpcFault } from '@node-agent/fake-cri';
import type { Pod } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import type { LifecycleHooks } from '../src/index.ts';
import { pod } from './builders.ts';
import { killedAt } from './kills.ts';
import { Machine, type MachineOptions, sleeper } from './machine.ts';

const postStart = { exec: { command: ['true'] } };

/** Creates a machine that records the order of hooks and starts of two containers. */
function hookedMachine(
  outcome: (container: string) => Promise<void> = async () => {},
  runtime: MachineOptions['runtime'] = {},
) {
  const happened: string[] = [];
  const hooks: LifecycleHooks = {
    async postStart(_pod, { name }) {
      happened.push(`hook of ${name}, beside ${machine.live().join()}`);
      await outcome(name);
    },
    preStop: async () => {},
  };
  const machine: Machine = new Machine({ hooks, runtime });
  return { machine, happened };
}

const started = (machine: Machine, name: string): number =>
  machine.events.filter((event) => event.startsWith('Normal Started ') && event.includes(`ontainers{${name}}: `))
    .length;

async function links(machine: Machine): Promise<readonly string[]> {
  const entries = await machine.fs.readdir('/var/log/containers').catch(() => []);
  return entries.map(({ name }) => name.replace(/-[^-]*$/, ''));
}

async function syncs(machine: Machine, web: Pod, rounds = 8): Promise<void> {
  const kubelet = machine.kubelet();
  for (let n = 0; n < rounds; n++) {
    await machine.sync(kubelet, web);
    await machine.clock.advance(2_000);
  }
}

const faults: readonly (readonly [string, RpcFault])[] = [
  ['was lost', { kind: 'answerLost' }],
  ['was an error, though the container started', { kind: 'answerLost', code: 'UNKNOWN' }],
  ['came too late', { kind: 'lateSuccess', timeoutMs: 10, workDelayMs: 500 }],
  ['came much too late', { kind: 'lateSuccess', timeoutMs: 10, workDelayMs: 7_000 }],
];

describe('the response of StartContainer is lost or fails', () => {
  const web = pod({ containers: [sleeper('a', { lifecycle: { postStart } }), sleeper('b')] });

  test.each(faults)(
    'C5: if the response of StartContainer %s, the postStart hook runs once, before the next container starts',
    async (_, fault) => {
      const { machine, happened } = hookedMachine();
      machine.cri.faults.add({ rpc: 'startContainer', times: 1, fault });
      await syncs(machine, web);
      expect(happened).toEqual(['hook of a, beside a/0']);
      expect(machine.live().toSorted()).toEqual(['a/0', 'b/0']);
      expect([started(machine, 'a'), started(machine, 'b')]).toEqual([1, 1]);
      expect(await links(machine)).toEqual(['web_default_a', 'web_default_b']);
    },
  );

  test.each(faults)(
    'C5: if the response of StartContainer %s, the postStart hook of a sidecar runs once, before the next container starts',
    async (_, fault) => {
      const sidecar = sleeper('s', { restartPolicy: 'Always', lifecycle: { postStart } });
      const { machine, happened } = hookedMachine();
      machine.cri.faults.add({ rpc: 'startContainer', times: 1, fault });
      await syncs(machine, pod({ initContainers: [sidecar], containers: [sleeper('b')] }));
      expect(happened).toEqual(['hook of s, beside s/0']);
      expect(machine.live().toSorted()).toEqual(['b/0', 's/0']);
      expect([started(machine, 's'), started(machine, 'b')]).toEqual([1, 1]);
    },
  );

  test.each(faults)(
    'if the response of StartContainer %s, a container without a hook gets its event and the link to its log',
    async (_, fault) => {
      const { machine } = hookedMachine();
      machine.cri.faults.add({ rpc: 'startContainer', times: 1, fault });
      await syncs(machine, pod({ containers: [sleeper('b')] }));
      expect(started(machine, 'b')).toBe(1);
      expect(await links(machine)).toEqual(['web_default_b']);
    },
  );

  test.each(faults)(
    'if the response of StartContainer %s, an ephemeral container gets its event and the link to its log',
    async (_, fault) => {
      const { machine } = hookedMachine();
      const debugged = pod({ containers: [sleeper('b')], ephemeralContainers: [sleeper('debug')] });
      await machine.sync(machine.kubelet(), pod({ containers: [sleeper('b')] }));
      machine.cri.faults.add({ rpc: 'startContainer', times: 1, fault });
      await syncs(machine, debugged);
      expect(started(machine, 'debug')).toBe(1);
      expect(await links(machine)).toEqual(['web_default_b', 'web_default_debug']);
    },
  );

  test('S7: an ephemeral container whose start response was lost is not reported as unfinished forever', async () => {
    const { machine } = hookedMachine();
    const debugged = pod({ containers: [sleeper('b')], ephemeralContainers: [sleeper('debug')] });
    const kubelet = machine.kubelet();
    await machine.sync(kubelet, pod({ containers: [sleeper('b')] }));
    machine.cri.faults.add({ rpc: 'startContainer', times: 1, fault: { kind: 'answerLost' } });
    for (let n = 0; n < 3; n++) await machine.sync(kubelet, debugged);
    const { containers } = await machine.status(kubelet, debugged);
    expect(containers.filter(({ startUnfinished }) => startUnfinished)).toEqual([]);
  });

  test('C5: after a lost start response, a failed postStart hook kills its container, and the next attempt waits for its back-off', async () => {
    const { machine, happened } = hookedMachine(() => Promise.reject(new Error('no')));
    machine.cri.faults.add({ rpc: 'startContainer', times: 1, fault: { kind: 'answerLost' } });
    const kubelet = machine.kubelet();
    await machine.sync(kubelet, web);
    await machine.sync(kubelet, web);
    expect(happened).toEqual(['hook of a, beside a/0']);
    expect(machine.live()).not.toContain('a/0');
  });

  test('S7: a container whose start response was lost is reported as unfinished until its postStart hook has succeeded', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { machine } = hookedMachine(() => promise);
    const kubelet = machine.kubelet();
    const before = await machine.status(kubelet, web);
    const sync = kubelet.syncPod(web, before, new AbortController().signal);
    await machine.clock.advance(1_000);
    const during = await machine.status(machine.kubelet(), web);
    expect(during.containers).toMatchObject([{ name: 'a', state: 'running', startUnfinished: true }]);
    resolve();
    await machine.settle(sync);
    const after = await machine.status(machine.kubelet(), web);
    expect(after.containers.every(({ startUnfinished }) => startUnfinished === undefined)).toBe(true);
  });
});

describe('C5: a container whose postStart hook failed is stopped', () => {
  const unavailable: RpcFault = { kind: 'error', code: 'UNAVAILABLE' };
  const hooked = (restartPolicy: 'Never' | 'OnFailure' | 'Always'): Pod =>
    pod({ restartPolicy, containers: [sleeper('a', { lifecycle: { postStart } })] });

  test.each([
    ['Never', 'the same'],
    ['Never', 'the next'],
    ['OnFailure', 'the same'],
    ['OnFailure', 'the next'],
    ['Always', 'the same'],
    ['Always', 'the next'],
  ] as const)(
    'C5: a container whose postStart hook failed is stopped although StopContainer failed at first: policy %s, %s kubelet',
    async (policy, which) => {
      const { machine } = hookedMachine(() => Promise.reject(new Error('no')));
      const kubelet = machine.kubelet();
      machine.cri.faults.add({ rpc: 'stopContainer', times: 1, fault: unavailable });
      await machine.sync(kubelet, hooked(policy));
      expect(machine.live()).toEqual(['a/0']);
      await machine.sync(which === 'the same' ? kubelet : machine.kubelet(), hooked(policy));
      expect(machine.live()).not.toContain('a/0');
    },
  );

  test('C5: a sidecar whose postStart hook failed is stopped although StopContainer failed at first', async () => {
    const { machine } = hookedMachine(() => Promise.reject(new Error('no')));
    const web = pod({
      initContainers: [sleeper('s', { restartPolicy: 'Always', lifecycle: { postStart } })],
      containers: [sleeper('b')],
    });
    const kubelet = machine.kubelet();
    machine.cri.faults.add({ rpc: 'stopContainer', times: 1, fault: unavailable });
    await machine.sync(kubelet, web);
    await machine.sync(kubelet, web);
    expect(machine.live()).not.toContain('s/0');
  });

  test.each([
    [42, 'the same', ['a/1', 's/0']],
    [42, 'the next', ['a/1', 's/0']],
    [1, 'the same', []],
    [1, 'the next', []],
  ] as const)(
    'C6: exit code %i of a container that %s kubelet stopped for its failed hook decides about its restart, by its restart rules',
    async (termExitCode, which, expected) => {
      let hookFails = true;
      const outcome = async (name: string): Promise<void> => {
        if (name === 'a' && hookFails) throw new Error('no');
      };
      const { machine } = hookedMachine(outcome, { script: () => ({ termExitCode }) });
      const restartPolicyRules = [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }];
      const web = pod({
        initContainers: [sleeper('s', { restartPolicy: 'Always' })],
        containers: [sleeper('a', { restartPolicy: 'Never', restartPolicyRules, lifecycle: { postStart } })],
      });
      const kubelet = machine.kubelet();
      await machine.sync(kubelet, web);
      machine.cri.faults.add({ rpc: 'stopContainer', times: 1, fault: unavailable });
      await machine.sync(kubelet, web);
      expect(machine.live().toSorted()).toEqual(['a/0', 's/0']);
      hookFails = false;
      const second = which === 'the same' ? kubelet : machine.kubelet();
      await machine.sync(second, web);
      expect(machine.live()).toContain('s/0');
      expect(machine.live()).not.toContain('a/0');
      await machine.clock.advance(20_001);
      await machine.sync(second, web);
      expect(machine.live().toSorted()).toEqual(expected);
    },
  );

  /**
   * Creates a machine on which the first hook fails and the runtime then does not report the container's state.
   * Containers exit with code 0 on SIGTERM.
   */
  function awayAfterHook(extra: () => void = () => {}): Machine {
    let isFirst = true;
    const outcome = async (): Promise<void> => {
      if (!isFirst) return;
      isFirst = false;
      machine.cri.faults.add({ rpc: 'containerStatus', times: 1, fault: unavailable });
      extra();
      throw new Error('no');
    };
    const { machine } = hookedMachine(outcome, { script: () => ({ termExitCode: 0 }) });
    return machine;
  }

  test.each([
    ['OnFailure', 'the same'],
    ['OnFailure', 'the next'],
    ['Always', 'the same'],
    ['Always', 'the next'],
  ] as const)(
    'C5: a container whose postStart hook failed is stopped although the runtime is down at first: policy %s, %s kubelet process',
    async (policy, which) => {
      const machine = awayAfterHook();
      const kubelet = machine.kubelet();
      await machine.sync(kubelet, hooked(policy));
      expect(machine.live()).toEqual(['a/0']);
      const second = which === 'the same' ? kubelet : machine.kubelet();
      await machine.sync(second, hooked(policy));
      expect(machine.live()).not.toContain('a/0');
      await machine.clock.advance(20_001);
      await machine.sync(second, hooked(policy));
      expect(machine.live()).toEqual(['a/1']);
    },
  );

  test('C5: a sidecar whose postStart hook failed is stopped although the runtime is down at first', async () => {
    const machine = awayAfterHook();
    const sidecar = sleeper('s', { restartPolicy: 'Always', lifecycle: { postStart } });
    const web = pod({ initContainers: [sidecar], containers: [sleeper('b')] });
    const kubelet = machine.kubelet();
    await machine.sync(kubelet, web);
    expect(machine.live()).toEqual(['s/0']);
    await machine.sync(kubelet, web);
    expect(machine.live()).not.toContain('s/0');
    expect(machine.events).toContain('Normal Killing initContainers{s}: FailedPostStartHook');
  });

  test.each([
    [0, 'OnFailure', 'does not start again'],
    [1, 'OnFailure', 'starts again'],
    [0, 'Always', 'starts again'],
  ] as const)(
    'C6: a container that exited with code %i while the runtime was down during its postStart hook, under policy %s, %s',
    async (exitCode, policy, outcome) => {
      const machine = awayAfterHook(() => {
        const [live] = machine.cri.liveContainers();
        machine.cri.killContainer(live?.id ?? '', { exitCode });
      });
      const kubelet = machine.kubelet();
      await machine.sync(kubelet, hooked(policy));
      await machine.clock.advance(20_001);
      await machine.sync(kubelet, hooked(policy));
      expect(machine.live()).toEqual(outcome === 'starts again' ? ['a/1'] : []);
    },
  );
});

describe('K1: the kubelet is killed during the start of a container with a postStart hook', () => {
  const web = pod({ containers: [sleeper('a', { lifecycle: { postStart } }), sleeper('b')] });

  test('C5: if the kubelet is killed at any call of a start, the postStart hook runs at least once, before the next container starts', async () => {
    for (let at = 0; ; at++) {
      let isLast = false;
      for (const sent of [true, false]) {
        const { machine, happened } = hookedMachine();
        const killed = killedAt(machine.cri, at, sent);
        const first = machine.kubelet(killed.cri);
        const died = (async () => {
          const status = await first.getPodStatus('uid-1', 'web', 'default');
          await first.syncPod(web, status, new AbortController().signal);
        })();
        void died.catch(() => {});
        await machine.clock.advance(5_000);
        await syncs(machine, web);
        expect(happened[0], `call ${at}, sent: ${sent}`).toBe('hook of a, beside a/0');
        expect(machine.live().toSorted()).toEqual(['a/0', 'b/0']);
        expect(await links(machine)).toEqual(['web_default_a', 'web_default_b']);
        for (const name of ['a', 'b']) expect(started(machine, name), name).toBeGreaterThan(0);
        isLast = killed.calls() <= at;
      }
      if (isLast) return expect(at).toBeGreaterThan(8);
    }
  });

  test('C5: if the kubelet is killed during a postStart hook, the hook runs again, and the next container starts after it', async () => {
    let isKilled = false;
    const { machine, happened } = hookedMachine(() => (isKilled ? Promise.resolve() : new Promise(() => {})));
    const first = machine.kubelet();
    const before = await machine.status(first, web);
    void first.syncPod(web, before, new AbortController().signal);
    await machine.clock.advance(1_000);
    isKilled = true;
    await syncs(machine, web);
    expect(happened).toEqual(['hook of a, beside a/0', 'hook of a, beside a/0']);
    expect(machine.live().toSorted()).toEqual(['a/0', 'b/0']);
  });

  test("C5: if the kubelet is killed during a postStart hook, the hook runs again although the pod's sync waits for volumes", async () => {
    let isKilled = false;
    const { machine, happened } = hookedMachine(() => (isKilled ? Promise.resolve() : new Promise(() => {})));
    const first = machine.kubelet();
    void first.syncPod(web, await machine.status(first, web), new AbortController().signal);
    await machine.clock.advance(1_000);
    isKilled = true;
    const second = machine.kubelet();
    const signal = new AbortController().signal;
    await machine.settle(second.finishStarts(web, await machine.status(second, web), signal));
    await machine.settle(second.finishStarts(web, await machine.status(second, web), signal));
    expect(happened).toEqual(['hook of a, beside a/0', 'hook of a, beside a/0']);
    expect(machine.live()).toEqual(['a/0']);
  });

  test('C5: if the kubelet is killed after a postStart hook, the hook does not run again', async () => {
    const { machine, happened } = hookedMachine();
    await syncs(machine, web);
    await syncs(machine, web);
    expect(happened).toEqual(['hook of a, beside a/0']);
    expect([started(machine, 'a'), started(machine, 'b')]).toEqual([1, 1]);
  });
});
