import type {
  Pod,
  PodCondition,
  PodStatus,
  RuntimeContainerState,
  RuntimeContainerStatus,
  RuntimePodStatus,
  RuntimeSandboxStatus,
} from '@node-agent/pod-spec';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { generateApiPodStatus } from '../src/generate.ts';
import type { StatusProbeResults } from '../src/readiness.ts';
import { makeContext, makePod, makeSandbox, runtimeContainer, runtimeStatus } from './builders.ts';

const condition = (status: PodStatus, type: string): PodCondition | undefined =>
  status.conditions?.find((found) => found.type === type);
const running = runtimeStatus(runtimeContainer());

describe('generated status of a running pod', () => {
  test('the status shows the device health of main containers only', () => {
    const resources = [{ name: 'example.com/led', resources: [{ resourceID: 'led0', health: 'Unhealthy' }] }];
    const pod = makePod({ initContainers: [{ name: 'init' }] });
    const status = generateApiPodStatus(pod, runtimeStatus(), makeContext({ resourcesStatus: () => resources }));
    expect(status.containerStatuses?.map((one) => one.allocatedResourcesStatus)).toEqual([resources]);
    expect(status.initContainerStatuses?.[0]).not.toHaveProperty('allocatedResourcesStatus');
    const none = generateApiPodStatus(pod, runtimeStatus(), makeContext({ resourcesStatus: () => [] }));
    expect(none.containerStatuses?.[0]).not.toHaveProperty('allocatedResourcesStatus');
  });

  const pod = makePod({}, { metadata: { name: 'web', namespace: 'default', uid: 'u1', generation: 3 } });
  const status = generateApiPodStatus(pod, running, makeContext());

  test('the status has phase, IPs, QoS class and generation of a running pod', () => {
    expect(status).toMatchObject({
      phase: 'Running',
      podIP: '10.0.0.7',
      podIPs: [{ ip: '10.0.0.7' }],
      hostIP: '192.168.0.1',
      qosClass: 'BestEffort',
      observedGeneration: 3,
    });
  });

  test('container IDs have the runtime’s name as prefix, and times are in whole seconds', () => {
    expect(status.containerStatuses).toEqual([
      {
        name: 'main',
        state: { running: { startedAt: '2026-01-01T00:00:02Z' } },
        lastState: {},
        ready: true,
        started: true,
        restartCount: 0,
        image: 'busybox:1',
        imageID: 'sha256:1',
        containerID: 'containerd://c1',
        // A container that has run always has resources in its status, even if it requests none.
        resources: {},
      },
    ]);
  });

  test('a running pod has every condition True with its generation', () => {
    const types = ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'];
    expect(status.conditions).toEqual(types.map((type) => ({ type, status: 'True', observedGeneration: 3 })));
  });
});

describe('container statuses in a generated status', () => {
  test.each([
    ['S2, C6: a main container', makePod({ restartPolicy: 'OnFailure' }), 'main', 'Succeeded'],
    ['S2, C3: an init container', makePod({ initContainers: [{ name: 'init' }] }), 'init', 'Pending'],
  ])(
    '%s that succeeded stays completed even if a further attempt was created after its exit',
    (_, pod, name, phase) => {
      const late = runtimeContainer({ id: 'c2', name, state: 'created', restartCount: 1 });
      const done = runtimeContainer({ name, state: 'exited' });
      const status = generateApiPodStatus(pod, runtimeStatus(late, done), makeContext());
      const [one] = (name === 'init' ? status.initContainerStatuses : status.containerStatuses) ?? [];
      expect(one).toMatchObject({ containerID: 'containerd://c1', state: { terminated: { exitCode: 0 } } });
      expect([status.phase, condition(status, 'Initialized')?.status]).toEqual([phase, 'True']);
    },
  );

  test('C3: an init container stays completed if only the record of an earlier attempt that never ran is left', () => {
    const pod = makePod({ initContainers: [{ name: 'init' }] });
    const done = runtimeContainer({ name: 'init', state: 'exited', restartCount: 1 });
    const before = generateApiPodStatus(pod, runtimeStatus(done), makeContext());
    const left = runtimeContainer({ id: 'c0', name: 'init', state: 'created', restartCount: 0 });
    const after = generateApiPodStatus(pod, runtimeStatus(left), makeContext({ oldStatus: before }));
    expect(after.initContainerStatuses).toEqual(before.initContainerStatuses);
  });

  test('a container that was never created waits with ContainerCreating, or PodInitializing if there are init containers', () => {
    const context = makeContext({ sandboxReady: false });
    const plain = generateApiPodStatus(makePod(), runtimeStatus(), context);
    expect(plain.containerStatuses?.[0]?.state).toEqual({ waiting: { reason: 'ContainerCreating' } });
    const withInit = generateApiPodStatus(makePod({ initContainers: [{ name: 'init' }] }), runtimeStatus(), context);
    expect(withInit.containerStatuses?.[0]?.state).toEqual({ waiting: { reason: 'PodInitializing' } });
    expect(condition(withInit, 'PodReadyToStartContainers')?.status).toBe('False');
    expect(condition(withInit, 'Initialized')).toMatchObject({
      status: 'False',
      reason: 'ContainersNotInitialized',
      message: 'containers with incomplete status: [init]',
    });
  });

  test('a container that could not be started has terminated at the epoch, as upstream shows it', () => {
    const failed = runtimeContainer({ state: 'exited', exitCode: 128, reason: 'StartError', startedAtMs: 0 });
    const status = generateApiPodStatus(makePod(), runtimeStatus(failed), makeContext());
    const [container] = status.containerStatuses ?? [];
    const terminated = container?.lastState?.terminated ?? container?.state?.terminated;
    expect(terminated).toMatchObject({ startedAt: '1970-01-01T00:00:00Z', finishedAt: '2026-01-01T00:00:09Z' });
  });

  test('a crashed container waits with the reason, and its termination is the last state', () => {
    const dead = runtimeContainer({ state: 'exited', exitCode: 3, reason: 'Error', message: 'boom', restartCount: 2 });
    const startFailure = () => ({ reason: 'CrashLoopBackOff', message: 'back-off 20s' });
    const status = generateApiPodStatus(makePod(), runtimeStatus(dead), makeContext({ startFailure }));
    expect(status.containerStatuses?.[0]).toMatchObject({
      state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 20s' } },
      lastState: { terminated: { exitCode: 3, reason: 'Error', message: 'boom', containerID: 'containerd://c1' } },
      restartCount: 2,
      ready: false,
    });
  });

  test('the newest attempt of a container is its state, and the one before its last state', () => {
    const seen = runtimeStatus(
      runtimeContainer({ restartCount: 1 }),
      runtimeContainer({ id: 'c0', state: 'exited', exitCode: 1 }),
    );
    const [shown] = generateApiPodStatus(makePod(), seen, makeContext()).containerStatuses ?? [];
    expect(shown?.containerID).toBe('containerd://c1');
    expect(shown?.lastState?.terminated?.containerID).toBe('containerd://c0');
  });

  test.each(['running', 'exited'] as const)(
    'S3: adds one restart for a container that was %s and restarted, although all its records and logs are gone',
    (state) => {
      const before = runtimeStatus(runtimeContainer({ state, restartCount: 5 }));
      let oldStatus = generateApiPodStatus(makePod(), before, makeContext());
      const anew = runtimeContainer({ id: 'c9', restartCount: 0 });
      for (const seen of [anew, anew, { ...anew, state: 'exited' as const }]) {
        oldStatus = generateApiPodStatus(makePod(), runtimeStatus(seen), makeContext({ oldStatus }));
        expect(oldStatus.containerStatuses?.[0]).toMatchObject({ containerID: 'containerd://c9', restartCount: 6 });
      }
      const again = runtimeStatus(runtimeContainer({ id: 'c10', restartCount: 1 }));
      const status = generateApiPodStatus(makePod(), again, makeContext({ oldStatus }));
      expect(status.containerStatuses?.[0]?.restartCount).toBe(7);
    },
  );

  test("S3: the restart count of a crashing container continues from the reported count, although the runtime's count is lower", () => {
    const startFailure = () => ({ reason: 'CrashLoopBackOff', message: 'back-off 20s' });
    const told = (id: string, state: 'running' | 'exited', restartCount: number, oldStatus: PodStatus | undefined) =>
      generateApiPodStatus(
        makePod(),
        runtimeStatus(runtimeContainer({ id, state, restartCount, exitCode: state === 'exited' ? 1 : 0 })),
        makeContext({ oldStatus, startFailure }),
      );
    const count = (status: PodStatus) => status.containerStatuses?.[0]?.restartCount;
    const waiting = told('c1', 'exited', 5, undefined);
    const again = told('c2', 'running', 0, waiting);
    const waitingAgain = told('c2', 'exited', 0, again);
    expect([waiting, again, waitingAgain, told('c3', 'running', 1, waitingAgain)].map(count)).toEqual([5, 6, 6, 7]);
    expect(waitingAgain.containerStatuses?.[0]?.state?.waiting).toMatchObject(startFailure());
  });

  test('S3: restart counts do not decrease if only an older record is left', () => {
    const before = runtimeStatus(runtimeContainer({ state: 'exited', restartCount: 5 }));
    const oldStatus = generateApiPodStatus(makePod(), before, makeContext());
    const older = runtimeStatus(runtimeContainer({ id: 'c0', state: 'exited', restartCount: 4 }));
    const status = generateApiPodStatus(makePod(), older, makeContext({ oldStatus }));
    expect(status.containerStatuses?.[0]?.restartCount).toBe(5);
  });

  test('C6: shows an ephemeral container as terminated while all other containers are restarted', () => {
    const restartPolicyRules = [
      { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [1] } },
    ] as const;
    const pod = makePod({
      containers: [{ name: 'main', restartPolicy: 'Never', restartPolicyRules }],
      ephemeralContainers: [{ name: 'debug' }],
    });
    const before = runtimeStatus(runtimeContainer(), runtimeContainer({ id: 'd', name: 'debug', state: 'exited' }));
    const oldStatus = generateApiPodStatus(pod, before, makeContext());
    const status = generateApiPodStatus(pod, { ...before, containers: [] }, makeContext({ oldStatus }));
    expect(status.containerStatuses?.[0]).toMatchObject({ state: { waiting: {} } });
    expect(status.ephemeralContainerStatuses?.[0]).toMatchObject({ state: { terminated: { exitCode: 0 } } });
  });

  test('a container that ran and has no record in the runtime has terminated with the reason ContainerStatusUnknown', () => {
    const oldStatus = generateApiPodStatus(makePod(), running, makeContext());
    const status = generateApiPodStatus(makePod(), runtimeStatus(), makeContext({ oldStatus }));
    expect(status.phase).toBe('Running');
    expect(status.containerStatuses?.[0]).toMatchObject({
      lastState: { terminated: { reason: 'ContainerStatusUnknown', exitCode: 137 } },
      restartCount: 1,
    });
  });

  test.each(['running', 'exited'] as const)(
    'C3: an init container that was %s in an older sandbox is shown as running again',
    (state) => {
      const pod = makePod({ restartPolicy: 'Never', initContainers: [{ name: 'init' }] });
      const before = runtimeStatus(runtimeContainer({ name: 'init', state, exitCode: state === 'exited' ? 143 : 0 }));
      const oldStatus: PodStatus = { ...generateApiPodStatus(pod, before, makeContext()), phase: 'Pending' };
      const sandbox = makeSandbox({ id: 's2', attempt: 1, createdAtMs: Date.UTC(2026, 0, 1, 0, 0, 10) });
      const seen = { ...runtimeStatus(), sandboxes: [sandbox] };
      const status = generateApiPodStatus(pod, seen, makeContext({ oldStatus }));
      expect(status.phase).toBe('Pending');
      expect(status.initContainerStatuses?.[0]).toMatchObject({
        state: { waiting: {} },
        lastState: {},
        restartCount: 1,
      });
      const anew = { ...seen, containers: [runtimeContainer({ id: 'c2', name: 'init', sandboxId: 's2' })] };
      const after = generateApiPodStatus(pod, anew, makeContext({ oldStatus: status }));
      expect(after.initContainerStatuses?.[0]).toMatchObject({ state: { running: {} }, restartCount: 1 });
    },
  );

  test.each([
    ['as terminated if the kubelet has seen it there', 's2', { terminated: { exitCode: 0 } }],
    ['as waiting if the kubelet has seen it in another sandbox', 's1', { waiting: {} }],
  ])('C3: after the clock was set back, shows an init container of the newest sandbox %s', (_, seenIn, state) => {
    const pod = makePod({ initContainers: [{ name: 'init' }] });
    const before = runtimeStatus(runtimeContainer({ id: 'c1', name: 'init', state: 'exited', exitCode: 0 }));
    const oldStatus: PodStatus = { ...generateApiPodStatus(pod, before, makeContext()), phase: 'Pending' };
    const sandbox = makeSandbox({ id: 's2', attempt: 1, createdAtMs: Date.UTC(2026, 0, 1, 1, 0, 10) });
    const seen = { ...runtimeStatus(), sandboxes: [sandbox], removed: new Map([['c1', seenIn]]) };
    const status = generateApiPodStatus(pod, seen, makeContext({ oldStatus }));
    expect(status.initContainerStatuses?.[0]).toMatchObject({ state });
  });

  test('S1: a main container that terminated in an older sandbox stays terminated, although its record is gone', () => {
    const pod = makePod({ restartPolicy: 'OnFailure', containers: [{ name: 'main' }, { name: 'other' }] });
    const ended = runtimeContainer({ state: 'exited' });
    const oldStatus = generateApiPodStatus(pod, runtimeStatus(ended), makeContext());
    const sandbox = makeSandbox({ id: 's2', attempt: 1, createdAtMs: Date.UTC(2026, 0, 1, 0, 1) });
    const other = runtimeContainer({ id: 'c2', name: 'other', sandboxId: 's2' });
    const seen = { ...runtimeStatus(other), sandboxes: [sandbox] };
    const status = generateApiPodStatus(pod, seen, makeContext({ oldStatus }));
    expect(status.containerStatuses?.[0]).toEqual(oldStatus.containerStatuses?.[0]);
  });

  test.each([
    ['a main container under policy OnFailure', { restartPolicy: 'OnFailure' }, 'main'],
    ['an init container', { restartPolicy: 'OnFailure', initContainers: [{ name: 'init' }] }, 'init'],
    [
      'a container with a restart rule under policy Never',
      {
        restartPolicy: 'Never',
        containers: [
          {
            name: 'main',
            restartPolicy: 'Never',
            restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }],
          },
        ],
      },
      'main',
    ],
  ] as const)('S1: %s in back-off is shown with its exit code when its pod has terminated', (_, spec, name) => {
    const pod = makePod(spec);
    const startFailure = () => ({ reason: 'CrashLoopBackOff', message: 'back-off 10s' });
    const ended = runtimeStatus(runtimeContainer({ name, state: 'exited', exitCode: 42, reason: 'Error' }));
    const statusOf = (podIsTerminal: boolean) => {
      const failure = { reason: 'DeadlineExceeded', message: '' };
      const status = generateApiPodStatus(pod, ended, makeContext({ startFailure, podIsTerminal, failure }));
      const all = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
      return all.find((one) => one.name === name)?.state;
    };
    expect(statusOf(false)).toMatchObject({ waiting: { reason: 'CrashLoopBackOff' } });
    expect(statusOf(true)).toMatchObject({ terminated: { exitCode: 42, reason: 'Error' } });
  });

  describe('container with policy OnFailure that was stopped for its probe and exited with code 0', () => {
    const pod = makePod({ restartPolicy: 'OnFailure' });
    const restartOwed = { reason: 'LivenessProbe', message: 'Container main failed liveness probe' };
    const ended = runtimeStatus(runtimeContainer({ state: 'exited', exitCode: 0, restartOwed }));
    const oldStatus = generateApiPodStatus(pod, running, makeContext());

    test('S1: a container that exited with 0 after its probe failed waits for its restart, and its pod has not succeeded', () => {
      const status = generateApiPodStatus(pod, ended, makeContext({ oldStatus }));
      expect(status.phase).toBe('Running');
      expect(status.containerStatuses?.[0]).toMatchObject({
        state: { waiting: { reason: 'ContainerCreating', message: restartOwed.message } },
        lastState: { terminated: { exitCode: 0 } },
        ready: false,
      });
    });

    test('S1: a container that exited with 0 after its probe failed waits in back-off, and its pod has not succeeded', () => {
      const startFailure = () => ({ reason: 'CrashLoopBackOff', message: 'back-off 10s' });
      const status = generateApiPodStatus(pod, ended, makeContext({ oldStatus, startFailure }));
      expect(status.phase).toBe('Running');
      expect(status.containerStatuses?.[0]?.state).toMatchObject({ waiting: { reason: 'CrashLoopBackOff' } });
    });

    test('C6: a pod has not failed if the record of a container that will be restarted was removed', () => {
      const waiting = generateApiPodStatus(pod, ended, makeContext({ oldStatus }));
      const startFailure = () => ({ reason: 'CrashLoopBackOff', message: 'back-off 10s' });
      const status = generateApiPodStatus(pod, runtimeStatus(), makeContext({ oldStatus: waiting, startFailure }));
      expect(status.phase).toBe('Running');
      expect(status.containerStatuses?.[0]).toMatchObject({
        state: { waiting: {} },
        lastState: { terminated: { exitCode: 0 } },
      });
    });

    test('S2: a pod fails if it is terminated before a container that was stopped for its probe has restarted', () => {
      const status = generateApiPodStatus(pod, ended, makeContext({ oldStatus, podIsTerminal: true }));
      expect(status.phase).toBe('Failed');
      expect(status.containerStatuses?.[0]?.state).toMatchObject({ terminated: { exitCode: 0 } });
    });

    test.each([
      ['its next attempt was created', { state: 'created' }],
      ['the postStart hook of its next attempt runs', { state: 'running', startUnfinished: true }],
    ] as const)(
      'S2: a pod has not terminated while a container that was stopped for its probe restarts: %s',
      (_, attempt) => {
        const next = runtimeContainer({ id: 'c2', restartCount: 1, ...attempt });
        const waiting = generateApiPodStatus(pod, ended, makeContext({ oldStatus }));
        const status = generateApiPodStatus(
          makePod({ restartPolicy: 'OnFailure', containers: [{ name: 'main', livenessProbe: {} }] }),
          runtimeStatus(next, ...ended.containers),
          makeContext({ oldStatus: waiting }),
        );
        expect(status.containerStatuses?.[0]).toMatchObject({ state: { waiting: {} } });
        expect(status.phase).toBe('Running');
      },
    );

    test('S1: a container that was stopped for its probe has succeeded once it has restarted and exited by itself', () => {
      const again = runtimeContainer({ id: 'c2', state: 'exited', exitCode: 0, restartCount: 1 });
      const both = runtimeStatus(again, ...ended.containers);
      expect(generateApiPodStatus(pod, both, makeContext({ oldStatus })).phase).toBe('Succeeded');
    });
  });

  test('C6: a container under Never that failed its postStart hook stays terminated when its record is gone', () => {
    const pod = makePod({ restartPolicy: 'Never' });
    const dead = runtimeContainer({ state: 'exited', exitCode: 143, reason: 'Error' });
    const startFailure = () => ({ reason: 'PostStartHookError', message: 'connection refused' });
    const oldStatus = generateApiPodStatus(pod, runtimeStatus(dead), makeContext({ startFailure }));
    const gone = generateApiPodStatus(pod, runtimeStatus(), makeContext({ oldStatus, startFailure }));
    expect(gone.containerStatuses?.[0]?.state).toMatchObject({ terminated: { exitCode: 143 } });
    expect(gone.containerStatuses).toEqual(oldStatus.containerStatuses);
  });

  test('S7: a container whose postStart hook has not succeeded waits, unless it was shown as running before', () => {
    const unfinished = runtimeStatus(runtimeContainer({ startUnfinished: true }));
    const first = generateApiPodStatus(makePod(), unfinished, makeContext());
    expect(first.phase).toBe('Pending');
    expect(first.containerStatuses?.[0]).toMatchObject({
      state: { waiting: { reason: 'ContainerCreating' } },
      ready: false,
      started: false,
    });
    const oldStatus = generateApiPodStatus(makePod(), running, makeContext());
    const later = generateApiPodStatus(makePod(), unfinished, makeContext({ oldStatus }));
    expect(later.containerStatuses?.[0]).toMatchObject({ state: { running: {} }, ready: true });
  });

  test('a container that ran and whose state is unknown is shown as terminated', () => {
    const oldStatus = generateApiPodStatus(makePod(), running, makeContext());
    const lost = runtimeStatus(runtimeContainer({ state: 'unknown' }));
    const status = generateApiPodStatus(makePod(), lost, makeContext({ oldStatus }));
    expect(status.containerStatuses?.[0]?.state?.terminated).toMatchObject({ reason: 'ContainerStatusUnknown' });
  });

  test('C3: an init container without records is shown as completed once a main container exists, a sidecar is not', () => {
    const pod = makePod({ initContainers: [{ name: 'init' }, { name: 'proxy', restartPolicy: 'Always' }] });
    const status = generateApiPodStatus(pod, running, makeContext());
    expect(status.initContainerStatuses?.[0]).toMatchObject({
      state: { terminated: { reason: 'Completed', exitCode: 0 } },
      ready: true,
    });
    expect(status.initContainerStatuses?.[1]?.state?.waiting).toBeDefined();
  });

  test('C3: an init container that cannot start in a new sandbox is shown as waiting at each sync', () => {
    const pod = makePod({ initContainers: [{ name: 'init' }] });
    const done = runtimeContainer({ id: 'i1', name: 'init', state: 'exited' });
    const main = runtimeContainer();
    const before = { ...runtimeStatus(main, done), sandboxes: [makeSandbox()] };
    const sandboxes = [
      makeSandbox({ id: 's2', attempt: 1, createdAtMs: Date.UTC(2026, 0, 1, 0, 1) }),
      makeSandbox({ state: 'notReady' }),
    ];
    const after = { ...runtimeStatus({ ...main, state: 'exited', exitCode: 137 }), sandboxes };
    const failure = { reason: 'ErrImagePull', message: 'no such image' };
    const startFailure = (name: string) => (name === 'init' ? failure : undefined);
    const looks = (seen: RuntimePodStatus, oldStatus: PodStatus | undefined): PodStatus[] => {
      const statuses: PodStatus[] = [];
      for (let count = 0; count < 3; count++) {
        const old = statuses.at(-1) ?? oldStatus;
        statuses.push(generateApiPodStatus(pod, seen, makeContext({ startFailure, ...(old && { oldStatus: old }) })));
      }
      return statuses;
    };
    const told = generateApiPodStatus(pod, before, makeContext());
    for (const status of [...looks(after, told), ...looks(after, undefined)]) {
      expect(status.initContainerStatuses?.[0]).toMatchObject({ state: { waiting: failure }, lastState: {} });
    }
    // The main container has run in the new sandbox, so the init container has completed there: the earlier status is
    // out of date.
    const here = { ...after, containers: [runtimeContainer({ id: 'c2', sandboxId: 's2' }), ...after.containers] };
    for (const status of [...looks(here, told), ...looks(here, undefined)]) {
      expect(status.initContainerStatuses?.[0]?.state?.terminated).toMatchObject({ reason: 'Completed' });
      expect(status.phase).toBe('Running');
    }
  });

  test('main containers are sorted by name, and init containers keep the order of the spec', () => {
    const containers = [{ name: 'z' }, { name: 'a' }];
    const status = generateApiPodStatus(
      makePod({ containers, initContainers: containers }),
      runtimeStatus(),
      makeContext(),
    );
    expect(status.containerStatuses?.map(({ name }) => name)).toEqual(['a', 'z']);
    expect(status.initContainerStatuses?.map(({ name }) => name)).toEqual(['z', 'a']);
  });
});

describe('generated phase of a pod whose sidecar restarts', () => {
  const pod = makePod({
    restartPolicy: 'OnFailure',
    initContainers: [{ name: 'proxy', restartPolicy: 'Always', startupProbe: {} }],
  });
  const starting = runtimeContainer({ id: 'p', name: 'proxy', restartCount: 1 });
  const ended = { state: 'exited' as const, exitCode: 1 };
  const phase = (main: Partial<RuntimeContainerStatus>, sandbox: Partial<RuntimeSandboxStatus> = {}) => {
    const seen = { ...runtimeStatus(starting, runtimeContainer(main)), sandboxes: [makeSandbox(sandbox)] };
    return generateApiPodStatus(pod, seen, makeContext()).phase;
  };

  test.each<[what: string, main: Partial<RuntimeContainerStatus>]>([
    ['runs', {}],
    ['has failed and will restart', ended],
    ['has succeeded', { state: 'exited' }],
  ])('a restarting sidecar does not make a pod Pending whose main container %s', (_what, main) => {
    expect(phase(main)).toBe('Running');
  });

  test('a restarting sidecar does not make a pod Pending if one of its main containers exists', () => {
    const two = makePod({ ...pod.spec, containers: [{ name: 'main' }, { name: 'other' }] });
    const both = [runtimeContainer({}), runtimeContainer({ id: 'o', name: 'other' })];
    const seen = { ...runtimeStatus(starting, ...both), sandboxes: [makeSandbox()] };
    expect(generateApiPodStatus(two, seen, makeContext()).phase).toBe('Running');
  });

  test.each<[what: string, main: Partial<RuntimeContainerStatus>, sandbox: Partial<RuntimeSandboxStatus>]>([
    ['terminated in an older sandbox', { ...ended, sandboxId: 's0' }, {}],
    ['terminated in a sandbox that is not ready', ended, { state: 'notReady' }],
  ])('a restarting sidecar makes a pod Pending whose main container %s', (_what, main, sandbox) => {
    expect(phase(main, sandbox)).toBe('Pending');
  });
});

describe('readiness in a generated status', () => {
  const probed = makePod({ containers: [{ name: 'main', readinessProbe: {}, startupProbe: {} }] });
  const succeeding: StatusProbeResults = { startup: () => 'success', readiness: () => 'success' };

  test('R1: a container has not started and is not ready before its startup probe succeeds', () => {
    const status = generateApiPodStatus(probed, running, makeContext());
    expect(status.containerStatuses?.[0]).toMatchObject({ started: false, ready: false });
    const probes: StatusProbeResults = { ...succeeding, readiness: () => 'failure' };
    const started = generateApiPodStatus(probed, running, makeContext({ probes }));
    expect(started.containerStatuses?.[0]).toMatchObject({ started: true, ready: false });
  });

  test('probe results are looked up by the runtime’s container ID', () => {
    const result = (id: string) => (id === 'c1' ? 'success' : 'failure');
    const probes: StatusProbeResults = { startup: result, readiness: result };
    const status = generateApiPodStatus(probed, running, makeContext({ probes }));
    expect(status.containerStatuses?.[0]).toMatchObject({ started: true, ready: true });
  });

  test('S6: until the first probe, Ready stays True after a kubelet restart and becomes False after a container restart', () => {
    const oldStatus = generateApiPodStatus(probed, running, makeContext({ probes: succeeding }));
    const after = generateApiPodStatus(probed, running, makeContext({ oldStatus }));
    expect(condition(after, 'Ready')?.status).toBe('True');
    const restarted = runtimeStatus(runtimeContainer({ id: 'c2' }));
    const anew = generateApiPodStatus(probed, restarted, makeContext({ oldStatus }));
    expect(condition(anew, 'Ready')?.status).toBe('False');
  });

  test('S7: a missing or false readiness gate keeps the pod not ready', () => {
    const gated = makePod({ readinessGates: [{ conditionType: 'lb' }] });
    expect(condition(generateApiPodStatus(gated, running, makeContext()), 'Ready')).toMatchObject({
      status: 'False',
      reason: 'ReadinessGatesNotReady',
      message: 'corresponding condition of pod readiness gate "lb" does not exist.',
    });
    for (const value of ['False', 'True']) {
      const pod = { ...gated, status: { conditions: [{ type: 'lb', status: value }] } };
      expect(condition(generateApiPodStatus(pod, running, makeContext()), 'Ready')?.status).toBe(value);
    }
  });
});

test('S7: a readiness gate may refer to a condition of the kubelet', () => {
  const gated = makePod({
    readinessGates: [{ conditionType: 'Initialized' }, { conditionType: 'PodReadyToStartContainers' }],
  });
  const ready = (sandboxReady: boolean) =>
    condition(generateApiPodStatus(gated, running, makeContext({ sandboxReady })), 'Ready');
  expect(ready(true)?.status).toBe('True');
  expect(ready(false)?.message).toBe(
    'the status of pod readiness gate "PodReadyToStartContainers" is not "True", but False',
  );
});

describe('values that a generated status keeps', () => {
  test('S4: the status keeps conditions of other writers, and DisruptionTarget', () => {
    const theirs = { type: 'example.com/theirs', status: 'True', reason: 'X' };
    const target = { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' };
    const pod = makePod({}, { status: { conditions: [theirs, { type: 'Ready', status: 'False' }] } });
    const status = generateApiPodStatus(pod, running, makeContext({ oldStatus: { conditions: [target] } }));
    expect(status.conditions?.slice(0, 2)).toEqual([theirs, target]);
    expect(status.conditions?.filter(({ type }) => type === 'Ready')).toHaveLength(1);
  });

  test('the start time is the creation of the first sandbox if no earlier status has one', () => {
    const sandboxes = [Date.UTC(2026, 0, 2), Date.UTC(2026, 0, 1)].map((createdAtMs) => makeSandbox({ createdAtMs }));
    const seen = { ...running, sandboxes };
    expect(generateApiPodStatus(makePod(), seen, makeContext()).startTime).toBe('2026-01-01T00:00:00Z');
    const oldStatus = { startTime: '2025-12-31T00:00:00Z' };
    expect(generateApiPodStatus(makePod(), seen, makeContext({ oldStatus })).startTime).toBeUndefined();
  });

  test('the status keeps the pod’s IP after its sandbox is gone', () => {
    const oldStatus = { podIPs: [{ ip: '10.0.0.7' }] };
    const gone = { ...runtimeStatus(), ips: [] };
    expect(generateApiPodStatus(makePod(), gone, makeContext({ oldStatus })).podIP).toBe('10.0.0.7');
  });

  test('the status has one IP per family, IPv4 first unless IPv6 is preferred, whatever the node’s addresses', () => {
    const seen = { ...runtimeStatus(), ips: ['fd00::1', '10.0.0.7', '10.0.0.8'] };
    const v4 = generateApiPodStatus(makePod(), seen, makeContext());
    expect(v4.podIPs).toEqual([{ ip: '10.0.0.7' }, { ip: 'fd00::1' }]);
    const hostIps = ['fd00::9', '192.168.0.1'];
    expect(generateApiPodStatus(makePod(), seen, makeContext({ hostIps })).podIP).toBe('10.0.0.7');
    const v6 = generateApiPodStatus(makePod(), seen, makeContext({ podIpFamily: 6 }));
    expect(v6.podIPs).toEqual([{ ip: 'fd00::1' }, { ip: '10.0.0.7' }]);
    // The runtime reports no IP addresses for a pod in the host network.
    const bare = { ...seen, ips: [] };
    const host = generateApiPodStatus(makePod({ hostNetwork: true }), bare, makeContext({ hostIps }));
    expect(host.podIPs).toEqual([{ ip: 'fd00::9' }, { ip: '192.168.0.1' }]);
  });

  test('a host-network pod has the node’s IPs', () => {
    const pod = makePod({ hostNetwork: true });
    const status = generateApiPodStatus(pod, { ...runtimeStatus(), ips: [] }, makeContext());
    expect(status.podIP).toBe('192.168.0.1');
  });
});

describe('terminal phases of a generated status', () => {
  const failure = { reason: 'DeadlineExceeded', message: 'too long' };

  test('a pod that the kubelet fails has phase Failed and the reason of the failure', () => {
    const status = generateApiPodStatus(makePod(), running, makeContext({ failure }));
    expect(status).toMatchObject({ phase: 'Failed', ...failure });
    expect(condition(status, 'Ready')).toMatchObject({ status: 'False', reason: 'PodFailed' });
  });

  test('S7: readiness of an evicted pod follows its containers until they have stopped', () => {
    const pod = makePod({ containers: [{ name: 'main', readinessProbe: {} }] });
    const ready = (result: 'success' | 'failure') => ({ startup: () => undefined, readiness: () => result });
    const before = generateApiPodStatus(pod, running, makeContext({ probes: ready('success') }));
    expect(condition(before, 'Ready')).toMatchObject({ status: 'True' });
    const oldStatus: PodStatus = { ...before, phase: 'Failed', reason: 'Evicted' };
    const again = (result: 'success' | 'failure', seen = running) =>
      condition(generateApiPodStatus(pod, seen, makeContext({ oldStatus, probes: ready(result) })), 'Ready');
    expect(again('success')).toMatchObject({ status: 'True' });
    expect(again('failure')).toMatchObject({ status: 'False', reason: 'ContainersNotReady' });
    const stopped = runtimeStatus(runtimeContainer({ state: 'exited' }));
    expect(again('success', stopped)).toMatchObject({ status: 'False', reason: 'PodFailed' });
  });

  test('S7: a pod past its deadline is not ready immediately, and stays so', () => {
    const pod = makePod();
    const oldStatus = generateApiPodStatus(pod, running, makeContext({ failure }));
    const next = generateApiPodStatus(pod, running, makeContext({ oldStatus }));
    expect(condition(next, 'Ready')).toMatchObject({ status: 'False', reason: 'PodFailed' });
  });

  test('S1: a Succeeded pod stays Succeeded when its container record disappears', () => {
    const pod = makePod({ restartPolicy: 'Never' });
    const oldStatus = generateApiPodStatus(pod, runtimeStatus(runtimeContainer({ state: 'exited' })), makeContext());
    expect(oldStatus.phase).toBe('Succeeded');
    const after = generateApiPodStatus(pod, runtimeStatus(), makeContext({ oldStatus }));
    expect(after.phase).toBe('Succeeded');
    expect(after.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(0);
  });

  test('S1: a terminal phase never changes, whatever the runtime reports', () => {
    const states = fc.constantFrom<RuntimeContainerState>('created', 'running', 'exited', 'unknown');
    const container = fc.record({ state: states, exitCode: fc.integer({ min: 0, max: 2 }), restartCount: fc.nat(3) });
    const step = fc.record({
      containers: fc.array(container, { maxLength: 3 }),
      podIsTerminal: fc.boolean(),
      failure: fc.constantFrom(undefined, failure),
    });
    const policies = fc.constantFrom('Always', 'OnFailure', 'Never');
    fc.assert(
      fc.property(policies, fc.array(step, { maxLength: 8 }), (restartPolicy, steps) => {
        const pod = makePod({ restartPolicy });
        let oldStatus: PodStatus | undefined;
        for (const { containers, ...given } of steps) {
          const seen = containers.map((made, index) => runtimeContainer({ ...made, id: `c${index}` }));
          const next = generateApiPodStatus(pod, runtimeStatus(...seen), makeContext({ oldStatus, ...given }));
          const was = oldStatus?.phase;
          if (was === 'Succeeded' || was === 'Failed') expect(next.phase).toBe(was);
          oldStatus = next;
        }
      }),
    );
  });

  test('S1: the API’s terminal phase takes precedence over the generated one', () => {
    const pod = makePod({}, { status: { phase: 'Failed', reason: 'Evicted' } });
    expect(generateApiPodStatus(pod, running, makeContext())).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
  });
});

describe('optional fields of a generated status', () => {
  const generate = (pod: Pod, overrides: Parameters<typeof makeContext>[0] = {}, seen = running): PodStatus =>
    generateApiPodStatus(pod, seen, makeContext(overrides));

  test('a status has lists of init, main and ephemeral containers only if the pod has such containers', () => {
    const plain = generate(makePod());
    expect(plain).not.toHaveProperty('initContainerStatuses');
    expect(plain).not.toHaveProperty('ephemeralContainerStatuses');
    const pod = makePod({ initContainers: [{ name: 'init' }], ephemeralContainers: [{ name: 'debug', image: 'd' }] });
    const lastState = { terminated: { exitCode: 3 } };
    const old = { name: 'debug', image: 'd', imageID: '', ready: false, restartCount: 0, lastState };
    const status = generate(pod, { oldStatus: { ephemeralContainerStatuses: [old] } });
    expect(status.initContainerStatuses).toHaveLength(1);
    expect(status.ephemeralContainerStatuses).toEqual([{ ...old, state: { waiting: { reason: 'PodInitializing' } } }]);
    const debug = runtimeContainer({ id: 'd1', name: 'debug' });
    const [shown] = generate(pod, {}, runtimeStatus(debug)).ephemeralContainerStatuses ?? [];
    expect(shown).toMatchObject({ state: { running: {} }, containerID: 'containerd://d1', ready: false });
  });

  test('a status has resize conditions and recursive read-only mounts only if they apply', () => {
    const resize = { type: 'PodResizePending', status: 'True', reason: 'Deferred' };
    expect(generate(makePod(), { resizeConditions: [resize] }).conditions).toContainEqual(resize);
    const volumeMounts = [{ name: 'v', mountPath: '/v', readOnly: true, recursiveReadOnly: 'IfPossible' }];
    const mounting = makePod({ containers: [{ name: 'main', volumeMounts }] });
    const mode = (overrides: object) => generate(mounting, overrides).containerStatuses?.[0]?.volumeMounts?.[0];
    expect(mode({ recursiveReadOnly: true })).toMatchObject({ recursiveReadOnly: 'Enabled' });
    expect(mode({})).toMatchObject({ recursiveReadOnly: 'Disabled' });
  });

  test('an unchanged phase keeps its last reported reason, or else its reason in the API', () => {
    const words = (old: PodStatus, api: PodStatus = {}) => {
      const { reason, message } = generate(makePod({}, { status: api }), { oldStatus: old });
      return [reason, message];
    };
    const told = { phase: 'Running', reason: 'told', message: 'as told' };
    const api = { phase: 'Running', reason: 'api', message: 'as in the API' };
    expect(words(told, api)).toEqual(['told', 'as told']);
    expect(words({ phase: 'Running' }, api)).toEqual(['api', 'as in the API']);
    expect(words(told)).toEqual(['told', 'as told']);
    expect(words({ ...told, phase: 'Pending' })).toEqual([undefined, undefined]);
    expect(generate(makePod(), { oldStatus: { phase: 'Running', reason: 'r' } })).not.toHaveProperty('message');
  });

  test('S1: the phase of the API is kept if it is terminal and the last reported phase is not', () => {
    const pod = makePod({}, { status: { phase: 'Succeeded' } });
    expect(generate(pod, { oldStatus: { phase: 'Running' } }).phase).toBe('Succeeded');
    expect(generate(pod, { oldStatus: { phase: 'Failed' } }).phase).toBe('Succeeded');
  });

  test('S4: a status has at most one DisruptionTarget condition, the kubelet’s own if it has one', () => {
    const theirs = { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' };
    const own = { ...theirs, reason: 'TerminationByKubelet' };
    const pod = makePod({}, { status: { conditions: [theirs] } });
    const targets = (oldStatus: PodStatus) =>
      generate(pod, { oldStatus }).conditions?.filter(({ type }) => type === 'DisruptionTarget');
    expect(targets({ conditions: [own] })).toEqual([own]);
    expect(targets({ conditions: [] })).toEqual([theirs]);
  });

  test('a status takes no start time from a sandbox without a creation time', () => {
    const seen = { ...running, sandboxes: [makeSandbox({ createdAtMs: 0 })] };
    expect(generate(makePod(), {}, seen)).not.toHaveProperty('startTime');
  });

  test('a status leaves out podIP if it is unknown, and drops empty entries of podIPs', () => {
    const none = { ...runtimeStatus(), ips: [] };
    expect(generate(makePod(), { hostIps: [] }, none)).not.toHaveProperty('podIP');
    const oldStatus = { podIPs: [{ ip: '' }, { ip: '10.0.0.7' }] };
    expect(generate(makePod(), { oldStatus }, none).podIPs).toEqual([{ ip: '10.0.0.7' }]);
  });
});

test('a running sidecar is ready, and a stopped one has not started', () => {
  const pod = makePod({ initContainers: [{ name: 'proxy', restartPolicy: 'Always' }] });
  const proxy = runtimeContainer({ id: 'p', name: 'proxy' });
  const shown = (...seen: RuntimeContainerStatus[]) =>
    generateApiPodStatus(pod, runtimeStatus(...seen), makeContext()).initContainerStatuses?.[0];
  expect(shown(proxy)).toMatchObject({ started: true, ready: true });
  expect(shown({ ...proxy, state: 'exited' })).toMatchObject({ started: false, ready: false });
  expect(shown()).toMatchObject({ started: false, ready: false });
});
