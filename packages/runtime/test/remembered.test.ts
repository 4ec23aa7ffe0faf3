import { type ContainerStatus, defaultRestartFeatures, type Pod, type PodStatus } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { type Known, withRemembered } from '../src/actions/remembered.ts';
import { container, pod, record, sandbox, sidecar, status } from './builders.ts';
import { Machine, once, sleeper } from './machine.ts';

const NOW_MS = 60_000;
const at = (second: number): string => new Date(second * 1000).toISOString();

function shown(name: string, state: ContainerStatus['state'], extra: Partial<ContainerStatus> = {}): ContainerStatus {
  const base = { name, image: 'i', imageID: '', ready: false, restartCount: 3, containerID: `containerd://${name}-3` };
  return { ...base, ...(state && { state }), ...extra };
}

const ended = (exitCode: number, startedAt = at(5)) => ({
  terminated: { exitCode, reason: 'Error', startedAt, finishedAt: at(9) },
});

describe('container without a record in the runtime', () => {
  const remembered = (
    spec: Partial<Pod['spec']>,
    podStatus: PodStatus,
    records = status(),
    sandboxOf: Known['sandboxOf'] = () => undefined,
  ) => {
    const web: Pod = { ...pod(spec), status: podStatus };
    const all = withRemembered(web, records, defaultRestartFeatures, { nowMs: NOW_MS, sandboxOf });
    return all.containers.slice(records.containers.length);
  };

  test("a container without a record in the runtime has the exit code in the pod's status", () => {
    const [main] = remembered({}, { containerStatuses: [shown('app', ended(4))] });
    expect(main).toMatchObject({
      id: 'app-3',
      name: 'app',
      state: 'exited',
      exitCode: 4,
      reason: 'Error',
      restartCount: 3,
      startedAtMs: 5_000,
      finishedAtMs: 9_999,
      sandboxId: 'sandbox-0',
    });
  });

  test("a container without a record that the pod's status shows as running has exit code 137 under policy Never", () => {
    const [main] = remembered(
      { restartPolicy: 'Never' },
      { containerStatuses: [shown('app', { running: { startedAt: at(5) } })] },
    );
    expect(main).toMatchObject({ state: 'exited', exitCode: 137, startedAtMs: 5_000 });
    expect(main).not.toHaveProperty('restartOwed');
  });

  test("a container without a record that the pod's status shows as waiting after its exit will restart", () => {
    const waiting = shown('app', { waiting: {} }, { lastState: ended(0) });
    expect(remembered({}, { containerStatuses: [waiting] })).toMatchObject([{ exitCode: 0, restartOwed: {} }]);
  });

  test.each<[string, Partial<Pod['spec']>, PodStatus]>([
    ['has not run', {}, { containerStatuses: [shown('app', { waiting: {} })] }],
    ["is not in the pod's spec", {}, { containerStatuses: [shown('other', ended(1))] }],
    [
      'C3: is an init container that succeeded in an earlier sandbox and waits to run again',
      { initContainers: [container('i')] },
      { initContainerStatuses: [shown('i', { waiting: {} }, { lastState: ended(0) })] },
    ],
    [
      'belongs to a pod whose containers may all be restarted by a rule',
      {
        containers: [
          container('app', {
            restartPolicy: 'Never',
            restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [1] } }],
          }),
        ],
      },
      { containerStatuses: [shown('app', ended(0))] },
    ],
  ])('a container without a record is omitted if it %s', (_, spec, podStatus) => {
    expect(remembered(spec, podStatus)).toEqual([]);
  });

  test("a container that has a record in the runtime is not taken from the pod's status", () => {
    const podStatus = { containerStatuses: [shown('app', ended(1))] };
    expect(remembered({}, podStatus, status([record('app', 'created', { restartCount: 4 })]))).toEqual([]);
    expect(remembered({}, podStatus, status([record('app', 'running')]))).toEqual([]);
  });

  test('C3: a container without a record in the runtime counts as run, even if the record of an earlier attempt that never ran is left', () => {
    const podStatus = {
      containerStatuses: [shown('app', ended(0))],
      initContainerStatuses: [shown('i', ended(0))],
    };
    const left = status([record('i', 'created', { restartCount: 2 })]);
    expect(remembered({ initContainers: [container('i')] }, podStatus, left)).toMatchObject([
      { name: 'app', exitCode: 0, sandboxId: 'sandbox-0' },
      { name: 'i', exitCode: 0, sandboxId: 'sandbox-0' },
    ]);
  });

  test.each([
    [
      'C2: a container without a record of its last run is known',
      2,
      [{ name: 'app', restartCount: 3, restartOwed: {} }],
    ],
    ['C6: a container is not taken from the status', 3, []],
    ['C6: a container is not taken from the status', 4, []],
  ])(
    "%s if the runtime has attempt %i, which never ran, and the pod's status shows a wait after attempt 3",
    (_, restartCount, expected) => {
      const waiting = shown('app', { waiting: {} }, { lastState: ended(0) });
      const left = status([record('app', 'created', { restartCount })]);
      expect(remembered({}, { containerStatuses: [waiting] }, left)).toMatchObject(expected);
    },
  );

  test.each([
    ["the first sandbox if it started in the second of the sandbox's creation", 0, 5, 'sandbox-0'],
    ['an earlier sandbox if it started before the newest was created', 1, 6, 'earlier'],
    ["an earlier sandbox if it started in the second of the newest sandbox's creation", 1, 5, 'earlier'],
    ['the newest sandbox if it started after its creation', 1, 4, 'sandbox-0'],
  ])('C3: a container without a record is assigned to %s', (_, attempt, createdAt, sandboxId) => {
    const records = status([], [sandbox({ attempt, createdAtMs: createdAt * 1000 })]);
    const podStatus = { initContainerStatuses: [shown('i', ended(0))] };
    expect(remembered({ initContainers: [container('i')] }, podStatus, records)).toMatchObject([{ sandboxId }]);
  });

  test('C3: a container without a record that started in the future belongs to an earlier sandbox, because the clock was set back', () => {
    const records = status([], [sandbox({ attempt: 1, createdAtMs: 4_000 })]);
    const podStatus = { initContainerStatuses: [shown('i', ended(0, at(61)))] };
    const [init] = remembered({ initContainers: [container('i')] }, podStatus, records);
    expect(init).toMatchObject({ sandboxId: 'earlier' });
  });

  test.each([
    ['the first sandbox', 0, 61, 'sandbox-0'],
    ['the newest sandbox, after that was created', 1, 61, 'sandbox-0'],
    ['an earlier sandbox, before the newest was created', 1, 63, 'earlier'],
  ])(
    'C3: a container without a record belongs to %s, if the container and the sandbox started in the future',
    (_, attempt, createdAt, sandboxId) => {
      const records = status([], [sandbox({ attempt, createdAtMs: createdAt * 1000 })]);
      const podStatus = { initContainerStatuses: [shown('i', ended(0, at(62)))] };
      expect(remembered({ initContainers: [container('i')] }, podStatus, records)).toMatchObject([{ sandboxId }]);
    },
  );

  test.each([
    ['the newest sandbox', 'sandbox-0', 5, 7, 'sandbox-0'],
    ['an earlier sandbox', 'sandbox-9', 7, 5, 'earlier'],
  ])(
    'C3: a container without a record belongs to %s, whatever the times, if the kubelet has seen it there',
    (_, seen, start, created, sandboxId) => {
      const records = status([], [sandbox({ createdAtMs: created * 1000 })]);
      const podStatus = { initContainerStatuses: [shown('i', ended(0, at(start)))] };
      const sandboxOf = (id: string): string | undefined => (id === 'i-3' ? seen : undefined);
      expect(remembered({ initContainers: [container('i')] }, podStatus, records, sandboxOf)).toMatchObject([
        { sandboxId },
      ]);
    },
  );

  test.each([
    ['runs', record('i', 'running', { sandboxId: 'sandbox-0' }), 'earlier'],
    ['has failed', record('i', 'exited', { sandboxId: 'sandbox-0', exitCode: 1 }), 'earlier'],
    ['has succeeded', record('i', 'exited', { sandboxId: 'sandbox-0' }), 'sandbox-0'],
    ['runs in another sandbox', record('i', 'running', { sandboxId: 'other' }), 'sandbox-0'],
  ])(
    'C3: a container without a record belongs to the sandbox "$2" if an init container before it %s',
    (_, first, sandboxId) => {
      const podStatus = { initContainerStatuses: [shown('s', ended(0))], containerStatuses: [shown('app', ended(1))] };
      const spec = { initContainers: [container('i'), sidecar('s')] };
      const all = remembered(spec, podStatus, status([first]));
      expect(all).toMatchObject([
        { name: 'app', sandboxId },
        { name: 's', sandboxId },
      ]);
    },
  );

  test('C2: a crashed sidecar without a record restarts', () => {
    const podStatus = { initContainerStatuses: [shown('s', { waiting: {} }, { lastState: ended(0) })] };
    expect(remembered({ initContainers: [sidecar('s')] }, podStatus)).toMatchObject([{ name: 's', restartOwed: {} }]);
  });
});

describe('records removed from the runtime by another program', () => {
  /** Removes all containers that do not run, as `crictl rm -a` does. */
  async function removeDead(machine: Machine): Promise<void> {
    const { containers } = await machine.settle(machine.cri.listContainers({ filter: null }));
    const live = new Set(machine.cri.liveContainers().map(({ id }) => id));
    for (const { id } of containers)
      if (!live.has(id)) await machine.settle(machine.cri.removeContainer({ containerId: id }));
  }

  const shows = (machine: Machine, exitCode: number) => {
    const time = new Date(machine.clock.now()).toISOString();
    return { terminated: { exitCode, startedAt: time, finishedAt: time } };
  };

  test.each([false, true])(
    'C6: a container whose record was removed does not run again under policy Never (kubelet restarted: %s)',
    async (restarted) => {
      const machine = new Machine();
      const kubelet = machine.kubelet();
      const web = pod({ restartPolicy: 'Never', containers: [once('a', 1), sleeper('b')] });
      await machine.sync(kubelet, web);
      await machine.clock.advance(1_000);
      await removeDead(machine);
      const told: Pod = { ...web, status: { containerStatuses: [shown('a', shows(machine, 1))] } };
      for (let n = 0; n < 3; n++) {
        await machine.sync(restarted ? machine.kubelet() : kubelet, told);
        await machine.clock.advance(30_000);
      }
      const { containers } = await machine.status(kubelet, web);
      expect(containers.map(({ name, restartCount }) => `${name}/${restartCount}`)).toEqual(['b/0']);
    },
  );

  test('C6: an ephemeral container whose record was removed does not restart', async () => {
    const machine = new Machine();
    const web = pod({ containers: [sleeper('b')], ephemeralContainers: [once('debug')] });
    await machine.sync(machine.kubelet(), web);
    await machine.clock.advance(1_000);
    await removeDead(machine);
    const told: Pod = { ...web, status: { ephemeralContainerStatuses: [shown('debug', shows(machine, 0))] } };
    await machine.sync(machine.kubelet(), told);
    const { containers } = await machine.status(machine.kubelet(), web);
    expect(containers.map(({ name }) => name)).toEqual(['b']);
  });

  test('C3: a completed init container whose record was removed does not restart before the first main container starts', async () => {
    const machine = new Machine();
    await machine.sync(machine.kubelet(), pod({ initContainers: [once('i')] }));
    await machine.clock.advance(1_000);
    await removeDead(machine);
    const web = pod({ initContainers: [once('i')], containers: [sleeper('b')] });
    const told: Pod = { ...web, status: { initContainerStatuses: [shown('i', shows(machine, 0))] } };
    await machine.sync(machine.kubelet(), told);
    expect(machine.live()).toEqual(['b/0']);
  });

  test.each([
    ['after it exited, by a restarted kubelet', true, 1_000],
    ['after it exited', false, 1_000],
    ['before it started', false, 0],
  ])(
    'C3: a completed init container without a record does not restart if the clock was set back %s',
    async (_, restarted, beforeJumpMs) => {
      const machine = new Machine();
      const kubelet = machine.kubelet();
      const web = pod({ initContainers: [once('i')], containers: [sleeper('b')] });
      machine.cri.faults.add({ rpc: 'createContainer', times: 1, fault: { kind: 'error', code: 'UNKNOWN' } });
      await machine.sync(kubelet, web);
      if (beforeJumpMs > 0) await machine.sync(kubelet, web);
      await machine.clock.advance(beforeJumpMs);
      const exit = shows(machine, 0);
      machine.clock.jumpWallClock(-3_600_000);
      if (beforeJumpMs === 0) await machine.sync(kubelet, web);
      await machine.clock.advance(1_000);
      const { containers } = await machine.status(kubelet, web);
      const containerID = `containerd://${containers[0]?.id}`;
      const ended = beforeJumpMs > 0 ? exit : shows(machine, 0);
      await removeDead(machine);
      const told: Pod = { ...web, status: { initContainerStatuses: [shown('i', ended, { containerID })] } };
      await machine.sync(restarted ? machine.kubelet() : kubelet, told);
      expect(machine.live()).toEqual(['b/0']);
    },
  );

  test('C2: the back-off of a crashing container is not shortened if its records were removed', async () => {
    const machine = new Machine();
    const kubelet = machine.kubelet();
    const web = pod({ containers: [once('a', 1)] });
    await machine.sync(kubelet, web);
    await machine.clock.advance(100);
    await machine.sync(kubelet, web);
    await machine.clock.advance(100);
    await removeDead(machine);
    const told: Pod = {
      ...web,
      status: { containerStatuses: [shown('a', { waiting: {} }, { lastState: shows(machine, 1), restartCount: 1 })] },
    };
    const { results } = await machine.sync(kubelet, told);
    expect(results).toMatchObject([{ action: 'StartContainer', error: { reason: 'CrashLoopBackOff' } }]);
  });

  test.each<[string, ContainerStatus['state'], ContainerStatus['state']]>([
    ['is shown as running', { running: { startedAt: at(1) } }, undefined],
    [
      'is shown as lost while it was running',
      { waiting: {} },
      { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' } },
    ],
  ])('C2: a container without a record that %s restarts immediately', async (_, state, lastState) => {
    const machine = new Machine();
    const web = pod({ containers: [sleeper('a')] });
    const of = shown('a', state, { restartCount: 5, ...(lastState && { lastState }) });
    await machine.sync(machine.kubelet(), { ...web, status: { containerStatuses: [of] } });
    expect(machine.live()).toEqual(['a/0']);
  });
});
