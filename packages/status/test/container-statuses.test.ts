import {
  type AnyContainer,
  type ContainerStatus,
  defaultRestartFeatures,
  type Pod,
  type RuntimeContainerStatus,
} from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { type ContainerStatusContext, containerStatuses } from '../src/container-statuses.ts';
import { makePod, makeSandbox, runtimeContainer, runtimeStatus } from './builders.ts';

type Group = 'init' | 'main' | 'ephemeral';
const CRASH = { reason: 'CrashLoopBackOff', message: 'back-off 20s' };

function shown(
  container: AnyContainer,
  records: readonly RuntimeContainerStatus[],
  more: Partial<ContainerStatusContext> & { readonly old?: Partial<ContainerStatus>; readonly group?: Group } = {},
): ContainerStatus {
  const { old, group = 'main', ...overrides } = more;
  const context: ContainerStatusContext = {
    pod: makePod(),
    runtimeStatus: runtimeStatus(...records),
    runtimeName: 'x',
    startFailure: () => undefined,
    restartsAll: false,
    podIsTerminal: false,
    features: defaultRestartFeatures,
    stopSignals: false,
    recursiveReadOnly: false,
    resourcesStatus: () => [],
    ...overrides,
  };
  const base = { name: container.name, image: '', imageID: '', ready: false, restartCount: 0 };
  const [status] = containerStatuses(context, [container], old === undefined ? [] : [{ ...base, ...old }], group);
  if (status === undefined) throw new Error('a container has a status');
  return status;
}

const MAIN = { name: 'main', image: 'busybox:1' };
const INIT = { name: 'init', image: 'busybox:1' };
const withInit = (fields: Partial<Pod['spec']> = {}): Pod => makePod({ initContainers: [INIT], ...fields });
const ranBefore = { containerID: 'x://c0', state: { running: { startedAt: '2026-01-01T00:00:02Z' } } };

describe('status of a container without a record in the runtime', () => {
  test('a container without a record in the runtime waits for its first start', () => {
    expect(shown(MAIN, [])).toEqual({
      name: 'main',
      state: { waiting: { reason: 'ContainerCreating' } },
      lastState: {},
      ready: false,
      restartCount: 0,
      image: 'busybox:1',
      imageID: '',
    });
    expect(shown({ name: 'main' }, []).image).toBe('');
  });

  test('a container without a record keeps its restart count and last state', () => {
    const lastState = { terminated: { exitCode: 3 } };
    const old = { state: { waiting: {} }, lastState, restartCount: 3 };
    expect(shown(MAIN, [], { old })).toMatchObject({ lastState, restartCount: 3 });
  });

  const lost = {
    terminated: {
      reason: 'ContainerStatusUnknown',
      message: 'The container could not be located when the pod was deleted.  The container used to be Running',
      exitCode: 137,
    },
  };
  test('P7: a container that ran when its record was removed has terminated with an unknown result, although an earlier run succeeded', () => {
    const old = { ...ranBefore, restartCount: 1, lastState: { terminated: { exitCode: 0, reason: 'Completed' } } };
    const status = shown(MAIN, [], { pod: makePod({ restartPolicy: 'OnFailure' }), old });
    expect(status).toMatchObject({ lastState: lost, state: { waiting: {} }, restartCount: 2 });
  });

  test('a container without a record that ran counts as restarted, unless the pod is being deleted', () => {
    expect(shown(MAIN, [], { old: ranBefore })).toMatchObject({ lastState: lost, restartCount: 1 });
    const metadata = { ...makePod().metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
    const pod = makePod({}, { metadata });
    expect(shown(MAIN, [], { old: ranBefore, pod })).toMatchObject({ lastState: lost, restartCount: 0 });
  });

  test.each([
    ['a main container under policy Never', MAIN, makePod({ restartPolicy: 'Never' }), 'main'],
    ['an ephemeral container', { name: 'main' }, makePod(), 'ephemeral'],
  ] as const)(
    'C6: %s that ran and has no record in the runtime has terminated for good',
    (_, container, pod, group) => {
      const status = shown(container, [], { old: ranBefore, pod, group });
      expect(status).toMatchObject({ state: lost, restartCount: 0, ready: false });
      expect(shown(container, [], { old: status, pod, group })).toEqual(status);
    },
  );

  test.each([
    ['an older sandbox', 3, { lastState: {}, restartCount: 1 }],
    ['this sandbox, in the second of its creation', 2, { lastState: lost, restartCount: 1 }],
    ['this sandbox', 0, { lastState: lost, restartCount: 1 }],
  ])(
    'C3: last state and restart count of an init container without a record that ran in %s: $2',
    (_name, second, expected) => {
      const sandboxes = [makeSandbox({ createdAtMs: Date.UTC(2026, 0, 1, 0, 0, second, 900) })];
      const status = { ...runtimeStatus(), sandboxes };
      const options = { group: 'init', pod: withInit(), runtimeStatus: status, old: ranBefore } as const;
      expect(shown(INIT, [], options)).toMatchObject({
        state: { waiting: { reason: 'PodInitializing' } },
        ...expected,
      });
    },
  );

  test('C3: an init container without a record that ran at an unknown time counts as run in this sandbox', () => {
    const status = { ...runtimeStatus(), sandboxes: [makeSandbox()] };
    const old = { containerID: 'x://c0', state: { running: {} } };
    const options = { group: 'init', pod: withInit(), runtimeStatus: status, old } as const;
    expect(shown(INIT, [], options).lastState).toEqual(lost);
  });
});

describe('status of an init container after a main container was created', () => {
  const main = runtimeContainer({ id: 'm1' });
  const options = { group: 'init', pod: withInit() } as const;

  test('after a main container was created, an init container without record and earlier status has completed', () => {
    expect(shown(INIT, [main], options).state).toEqual({
      terminated: {
        reason: 'Completed',
        message:
          'Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally',
        exitCode: 0,
      },
    });
  });

  test('K1: after a main container was created, an init container that was last reported as running has completed, whatever the restart policy', () => {
    for (const restartPolicy of ['Never', 'OnFailure', 'Always'] as const) {
      const pod = withInit({ restartPolicy });
      const { state } = shown(INIT, [main], { ...options, pod, old: ranBefore });
      expect(state?.terminated).toMatchObject({ reason: 'Completed', exitCode: 0 });
    }
  });

  test('after a main container was created, an init container keeps its reported termination', () => {
    const state = { terminated: { exitCode: 0, containerID: 'x://i1' } };
    expect(shown(INIT, [main], { ...options, old: { containerID: 'x://i1', state } }).state).toEqual(state);
  });

  test.each([
    ['an older sandbox', 's1', undefined, true],
    ['an older sandbox, and cannot start in the new one', 's1', CRASH, false],
    ['the new sandbox, where it could not start at first', 's2', CRASH, true],
    ['an unknown sandbox, where it could not start at first', '', CRASH, true],
  ])(
    'C3: after a main container was created, an init container that ran in %s has completed: $3',
    (_name, sandboxId, failure, completed) => {
      const sandboxes = [makeSandbox({ id: 's2', attempt: 1 }), makeSandbox({ state: 'notReady' })];
      const status = { ...runtimeStatus({ ...main, sandboxId }), sandboxes };
      const { state } = shown(INIT, [], { ...options, runtimeStatus: status, startFailure: () => failure });
      expect(state?.terminated?.reason).toBe(completed ? 'Completed' : undefined);
      expect(state?.waiting).toEqual(completed ? undefined : CRASH);
    },
  );

  test('an init container that was created again after a main container, and has not started, is shown as waiting', () => {
    const again = runtimeContainer({ id: 'i2', name: 'init', state: 'created' });
    expect(shown(INIT, [main, again], options).state).toEqual({ waiting: {} });
  });
});

describe('status of a container that could not be started', () => {
  const startFailure = () => CRASH;
  const ended = (name: string, exitCode: number) =>
    runtimeContainer({ name, state: 'exited', exitCode, reason: exitCode === 0 ? 'Completed' : 'Error' });
  test.each<[string, AnyContainer, Group, number, boolean]>([
    ['a main container that succeeded and runs again', MAIN, 'main', 0, true],
    ['a main container that failed', MAIN, 'main', 1, true],
    ['an init container that failed', INIT, 'init', 1, true],
    ['an init container that has completed', INIT, 'init', 0, false],
  ])(
    'the status shows the reason why a container could not be started, for %s: $4',
    (_name, container, group, exitCode, waits) => {
      const { state } = shown(container, [ended(container.name, exitCode)], { group, startFailure, pod: withInit() });
      expect(state?.waiting).toEqual(waits ? CRASH : undefined);
      expect(state?.terminated?.exitCode).toBe(waits ? undefined : 0);
    },
  );
});

describe('state of a container', () => {
  test('the state of a container has times in whole seconds, and omits absent reason and message', () => {
    const record = runtimeContainer({ state: 'exited', exitCode: 2, reason: '' });
    expect(shown(MAIN, [record]).state).toEqual({
      terminated: {
        exitCode: 2,
        startedAt: '2026-01-01T00:00:02Z',
        finishedAt: '2026-01-01T00:00:09Z',
        containerID: 'x://c1',
      },
    });
  });

  test('a terminated container without times has the epoch, a running one has no time', () => {
    const never = runtimeContainer({ state: 'exited', startedAtMs: 0, finishedAtMs: 0 });
    expect(shown(MAIN, [never]).state?.terminated).toMatchObject({
      startedAt: '1970-01-01T00:00:00Z',
      finishedAt: '1970-01-01T00:00:00Z',
    });
    expect(shown(MAIN, [runtimeContainer({ startedAtMs: 0 })]).state).toEqual({ running: {} });
  });

  test('the state of a container that was only created is empty', () => {
    expect(shown(MAIN, [runtimeContainer({ state: 'created' })]).state).toEqual({ waiting: {} });
  });

  test('the last state is the previous attempt as the runtime reports it, even if it was last reported as running', () => {
    const records = [runtimeContainer({}), runtimeContainer({ id: 'c0', state: 'exited', exitCode: 4 })];
    expect(shown(MAIN, records, { old: ranBefore }).lastState?.terminated?.exitCode).toBe(4);
  });

  test('a container that the runtime has lost has the reason ContainerStatusUnknown', () => {
    const records = [runtimeContainer({ state: 'unknown' })];
    const message = 'The container could not be located when the pod was terminated';
    expect(shown(MAIN, records, { old: { ...ranBefore, containerID: 'x://c1' } }).state).toEqual({
      terminated: { reason: 'ContainerStatusUnknown', message, exitCode: 137 },
    });
    expect(shown(MAIN, records).state).toEqual({ waiting: {} });
  });

  test('a container keeps its reported last state if the runtime has no record of the previous attempt', () => {
    const lastState = { terminated: { exitCode: 5 } };
    const same = { ...ranBefore, containerID: 'x://c1', lastState };
    expect(shown(MAIN, [runtimeContainer()], { old: same }).lastState).toEqual(lastState);
    expect(shown(MAIN, [runtimeContainer()], { old: same, restartsAll: true }).lastState).toEqual(lastState);
    expect(shown(MAIN, [runtimeContainer()], { old: { ...ranBefore, lastState } }).lastState).toEqual(lastState);
    expect(shown(MAIN, [runtimeContainer()], { old: ranBefore }).lastState).toEqual({});
    const ended = { containerID: 'x://c0', state: { terminated: { exitCode: 6 } } };
    expect(shown(MAIN, [runtimeContainer()], { old: ended }).lastState).toEqual(ended.state);
  });
});

test('a container whose record was removed for a restart of all containers has the reason RestartingAllContainers', () => {
  const { state } = shown(MAIN, [], { old: ranBefore, restartsAll: true });
  const message = 'The container is removed because RestartAllContainers in place';
  expect(state).toEqual({ waiting: { reason: 'RestartingAllContainers', message } });
});

describe('volume mount statuses', () => {
  const mount = { name: 'data', mountPath: '/data', readOnly: true };
  const none = { mountPropagation: 'None', recursiveReadOnly: 'Enabled' };
  test.each<[string, object, boolean, object]>([
    ['that is writable', { readOnly: false, recursiveReadOnly: 'Enabled' }, true, {}],
    ['that is read-only without recursiveReadOnly', {}, true, { readOnly: true, recursiveReadOnly: 'Disabled' }],
    ['with recursiveReadOnly Enabled', none, true, { readOnly: true, recursiveReadOnly: 'Enabled' }],
    [
      'with recursiveReadOnly Enabled, if the runtime cannot',
      none,
      false,
      { readOnly: true, recursiveReadOnly: 'Disabled' },
    ],
    [
      'with recursiveReadOnly IfPossible',
      { recursiveReadOnly: 'IfPossible' },
      true,
      { readOnly: true, recursiveReadOnly: 'Enabled' },
    ],
    [
      'with recursiveReadOnly Enabled and mount propagation',
      { ...none, mountPropagation: 'HostToContainer' },
      true,
      { readOnly: true, recursiveReadOnly: 'Disabled' },
    ],
    [
      'with recursiveReadOnly Disabled',
      { recursiveReadOnly: 'Disabled' },
      true,
      { readOnly: true, recursiveReadOnly: 'Disabled' },
    ],
  ])(
    'readOnly and recursiveReadOnly (KEP-3857) in the status of a mount %s: $3',
    (_name, fields, recursiveReadOnly, expected) => {
      const container = { ...MAIN, volumeMounts: [{ ...mount, ...fields }] };
      const told = [{ name: 'data', mountPath: '/data', ...expected }];
      expect(shown(container, [runtimeContainer()], { recursiveReadOnly }).volumeMounts).toEqual(told);
      expect(shown(container, [], { recursiveReadOnly }).volumeMounts).toEqual(told);
    },
  );

  test('a container without volume mounts has no volume mount statuses', () => {
    expect(shown({ ...MAIN, volumeMounts: [] }, [])).not.toHaveProperty('volumeMounts');
  });
});
