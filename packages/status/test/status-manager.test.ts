import { FakeClock } from '@node-agent/async/testing';
import type { ContainerStatus, PodStatus, RuntimeContainerStatus } from '@node-agent/pod-spec';
import { noMetrics, silentLogger } from '@node-agent/telemetry';
import { captureLogger } from '@node-agent/telemetry/testing';
import { describe, expect, test } from 'vitest';
import { generateApiPodStatus } from '../src/generate.ts';
import { StatusManager, type VersionedStatus } from '../src/status-manager.ts';
import {
  apiStatus,
  makeContext,
  makePod,
  makeSandbox,
  makeStaticPod,
  runtimeContainer,
  runtimeStatus,
} from './builders.ts';

function setUp() {
  const clock = new FakeClock();
  const changes: VersionedStatus[] = [];
  const onChange = (change: VersionedStatus): void => void changes.push(change);
  const manager = new StatusManager({ clock, logger: silentLogger, metrics: noMetrics, onChange });
  return { manager, clock, changes };
}

const ready = (status: string): PodStatus => ({ phase: 'Running', conditions: [{ type: 'Ready', status }] });

test('the status manager keeps the start time of the first status', async () => {
  const { manager, clock } = setUp();
  manager.setPodStatus(makePod(), { phase: 'Pending' });
  await clock.advance(60_000);
  manager.setPodStatus(makePod(), { phase: 'Running' });
  expect(manager.getPodStatus('u1')?.startTime).toBe('2026-01-01T00:00:00Z');
});

test('the transition time of a condition changes only with its status', async () => {
  const { manager, clock } = setUp();
  const time = () => manager.getPodStatus('u1')?.conditions?.[0]?.lastTransitionTime;
  manager.setPodStatus(makePod(), ready('False'));
  await clock.advance(10_000);
  manager.setPodStatus(makePod(), { ...ready('False'), phase: 'Pending' });
  expect(time()).toBe('2026-01-01T00:00:00Z');
  manager.setPodStatus(makePod(), ready('True'));
  expect(time()).toBe('2026-01-01T00:00:10Z');
});

test('S3: each change of a status gets a new version, and an unchanged status keeps its version', () => {
  const { manager, changes } = setUp();
  for (const status of ['False', 'False', 'True']) manager.setPodStatus(makePod(), ready(status));
  expect(changes.map(({ version }) => version)).toEqual([1, 2]);
});

test('S3: a status that is set again after its removal has a newer version', () => {
  const { manager, changes } = setUp();
  manager.setPodStatus(makePod(), ready('True'));
  manager.removeOrphanedStatuses(new Set());
  manager.setPodStatus(makePod(), ready('True'));
  expect(changes.map(({ version }) => version)).toEqual([1, 2]);
});

test('logs once that a pod became ready, and once that it is no longer ready', () => {
  const { logger, lines } = captureLogger();
  const manager = new StatusManager({ clock: new FakeClock(), logger, metrics: noMetrics });
  for (const status of ['False', 'True', 'True', 'False', 'False']) manager.setPodStatus(makePod(), ready(status));
  expect(lines.map(({ message }) => message)).toEqual(['Pod is ready', 'Pod is no longer ready']);
});

test('the status manager forgets the statuses of removed pods only', () => {
  const { manager } = setUp();
  manager.setPodStatus(makePod(), ready('True'));
  manager.removeOrphanedStatuses(new Set(['u1']));
  expect(manager.getPodStatus('u1')).toBeDefined();
  manager.removeOrphanedStatuses(new Set());
  expect(manager.getStatuses()).toEqual([]);
});

describe('statuses of terminated containers in the status manager', () => {
  const pod = makePod({ restartPolicy: 'Never', initContainers: [{ name: 'init' }] });

  test('S1: a container that terminated for good is never shown in another state', () => {
    const { manager, changes } = setUp();
    manager.setPodStatus(pod, { phase: 'Succeeded', containerStatuses: [apiStatus('main', 0)] });
    manager.setPodStatus(pod, { phase: 'Pending', containerStatuses: [apiStatus('main', 'waiting')] });
    expect(manager.getPodStatus('u1')?.phase).toBe('Succeeded');
    expect(changes).toHaveLength(1);
  });

  test.each(['Running', 'Failed', undefined])('S1: a Succeeded pod does not become %s', (phase) => {
    const { manager } = setUp();
    manager.setPodStatus(makePod(), { phase: 'Succeeded', reason: 'done' });
    manager.setPodStatus(makePod(), { ...(phase && { phase }), message: 'other', podIP: '10.0.0.7' });
    const { startTime: _startTime, ...status } = manager.getPodStatus('u1') ?? {};
    expect(status).toEqual({ phase: 'Succeeded', reason: 'done', podIP: '10.0.0.7' });
  });

  test('S1: rejects unknown phases; a pod may go from Running back to Pending, as a new sandbox causes', () => {
    const { logger, lines } = captureLogger();
    const manager = new StatusManager({ clock: new FakeClock(), logger });
    manager.setPodStatus(makePod(), { phase: 'Running' });
    manager.setPodStatus(makePod(), { phase: 'Bogus', podIP: '10.0.0.7' });
    expect(manager.getPodStatus('u1')).toEqual({ phase: 'Running', startTime: expect.any(String) });
    expect(lines.map(({ fields }) => fields.fault)).toEqual([
      'phase "Bogus" must be one of Pending, Running, Succeeded, Failed, Unknown',
    ]);
    manager.setPodStatus(makePod(), { phase: 'Pending' });
    expect(manager.getPodStatus('u1')?.phase).toBe('Pending');
  });

  test.each([
    ['S1: an init container keeps its termination once a main container has run', 'running', 'terminated'],
    ['C3: an init container runs again in a new sandbox before a main container has run', 'waiting', 'running'],
  ] as const)('%s', (_name, main, expected) => {
    const { manager } = setUp();
    const containerStatuses = [apiStatus('main', main)];
    manager.setPodStatus(pod, { phase: 'Pending', containerStatuses, initContainerStatuses: [apiStatus('init', 0)] });
    manager.setPodStatus(pod, { phase: 'Pending', initContainerStatuses: [apiStatus('init', 'running')] });
    expect(manager.getPodStatus('u1')?.initContainerStatuses?.[0]?.state?.[expected]).toBeDefined();
  });

  test('S1: a status with a terminal phase is stored, but the final states of terminated containers are kept', () => {
    const { manager } = setUp();
    const containerStatuses = [apiStatus('main', 0)];
    const initContainerStatuses = [apiStatus('init', 0)];
    manager.setPodStatus(pod, { phase: 'Running', containerStatuses, initContainerStatuses });
    // The status of a pod that was about to be initialized again in a new sandbox.
    const anew = [apiStatus('init', 'waiting')];
    manager.setPodStatus(pod, { phase: 'Failed', reason: 'Terminated', initContainerStatuses: anew });
    expect(manager.getPodStatus('u1')).toMatchObject({ phase: 'Failed', reason: 'Terminated', initContainerStatuses });
    manager.setPodStatus(pod, { phase: 'Bogus', initContainerStatuses: anew });
    expect(manager.getPodStatus('u1')).toMatchObject({ phase: 'Failed', initContainerStatuses });
  });

  test('S1: in a terminated pod, shows a restartable container as running although the state of the init container is rejected', () => {
    const { manager } = setUp();
    const twice = makePod({ restartPolicy: 'OnFailure', initContainers: [{ name: 'init' }] });
    const initContainerStatuses = [apiStatus('init', 0)];
    manager.setPodStatus(twice, { phase: 'Running', containerStatuses: [apiStatus('main', 1)], initContainerStatuses });
    const running = { ...apiStatus('main', 'running'), containerID: 'containerd://2', restartCount: 1 };
    const evicted: PodStatus = { phase: 'Failed', reason: 'Evicted', containerStatuses: [running] };
    manager.setPodStatus(twice, { ...evicted, initContainerStatuses: [apiStatus('init', 'waiting')] });
    expect(manager.getPodStatus('u1')).toMatchObject({ ...evicted, initContainerStatuses });
  });

  test.each([
    ['the pod’s policy', makePod({ restartPolicy: 'OnFailure' })],
    ['its own', makePod({ restartPolicy: 'Never', containers: [{ name: 'main', restartPolicy: 'Always' }] })],
  ])('a terminated container may be shown as running again if it may restart by %s', (_name, restartable) => {
    const { manager } = setUp();
    manager.setPodStatus(restartable, { phase: 'Running', containerStatuses: [apiStatus('main', 1)] });
    manager.setPodStatus(restartable, { phase: 'Running', containerStatuses: [apiStatus('main', 'running')] });
    expect(manager.getPodStatus('u1')?.containerStatuses?.[0]?.state?.running).toBeDefined();
  });
});

describe('terminatePod', () => {
  test('terminatePod fails containers whose termination was not observed, and the pod', () => {
    const { manager, changes } = setUp();
    const pod = makePod({ initContainers: [{ name: 'done' }, { name: 'never' }] });
    manager.setPodStatus(pod, {
      phase: 'Running',
      containerStatuses: [apiStatus('main', 'running')],
      initContainerStatuses: [apiStatus('done', 'running'), apiStatus('never', 'waiting')],
    });
    manager.terminatePod(pod);
    const last = changes.at(-1);
    expect(last).toMatchObject({ finished: true, status: { phase: 'Failed' } });
    expect(last?.status.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(137);
    expect(last?.status.initContainerStatuses?.[0]?.state?.terminated?.exitCode).toBe(137);
    expect(last?.status.initContainerStatuses?.[1]?.state?.waiting).toBeDefined();
  });

  test.each<[what: string, init: readonly (0 | 1 | 'running' | 'waiting')[], sidecar: boolean, counts: boolean]>([
    ['without init containers', [], false, true],
    ['whose init containers have completed', [0], false, true],
    ['with a failed init container', [1], false, false],
    ['whose last init container has not started', [0, 'waiting'], false, false],
    ['whose last init container runs', ['running'], false, false],
    ['whose last sidecar runs', ['running'], true, true],
  ])('terminatePod fails a container that never ran in a pod %s: $3', (_what, states, isSidecar, counts) => {
    const { manager } = setUp();
    const restartPolicy = isSidecar ? { restartPolicy: 'Always' } : {};
    const pod = makePod({ initContainers: states.map((_state, index) => ({ name: `i${index}`, ...restartPolicy })) });
    const init = states.map((state, index) => apiStatus(`i${index}`, state, { started: isSidecar }));
    const containerStatuses = [apiStatus('main', 'waiting')];
    manager.setPodStatus(pod, { phase: 'Pending', containerStatuses, initContainerStatuses: init });
    manager.terminatePod(pod);
    const [main] = manager.getPodStatus('u1')?.containerStatuses ?? [];
    expect(main?.state?.terminated?.reason).toBe(counts ? 'ContainerStatusUnknown' : undefined);
  });

  test('terminatePod does not count an init container as initialization that succeeded only because it was stopped', () => {
    const { manager } = setUp();
    const pod = makePod({ initContainers: [{ name: 'i' }] });
    const containerStatuses = [apiStatus('main', 'waiting')];
    const before = { phase: 'Pending', containerStatuses, initContainerStatuses: [apiStatus('i', 'running')] };
    manager.setPodStatus(pod, { ...before, initContainerStatuses: [apiStatus('i', 0)] });
    manager.terminatePod(pod, before);
    const { containerStatuses: [main] = [], initContainerStatuses: [init] = [] } = manager.getPodStatus('u1') ?? {};
    expect(main?.state?.waiting).toBeDefined();
    expect(init?.state?.terminated?.exitCode).toBe(0);
  });

  test('terminatePod keeps the phase of a static pod', () => {
    const { manager } = setUp();
    manager.setPodStatus(makeStaticPod(), { phase: 'Running' });
    manager.terminatePod(makeStaticPod());
    expect(manager.getPodStatus('u1')?.phase).toBe('Running');
  });

  test('S5: a pod that has finished stays finished', () => {
    const { manager, changes } = setUp();
    manager.terminatePod(makePod());
    manager.setPodStatus(makePod(), { phase: 'Failed', reason: 'late' });
    expect(changes.at(-1)?.finished).toBe(true);
  });
});

test('termination messages are cut by bytes, between characters', () => {
  const { manager } = setUp();
  const containers = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ name }));
  const terminated = { exitCode: 1, message: '\u6f22'.repeat(4000) };
  const [{ name } = { name: '' }] = containers;
  const facts = { image: '', imageID: '', ready: false, restartCount: 0 };
  manager.setPodStatus(makePod({ containers }), { containerStatuses: [{ name, state: { terminated }, ...facts }] });
  const message = manager.getPodStatus('u1')?.containerStatuses?.[0]?.state?.terminated?.message;
  // A fifth of 12 KiB is 2457 bytes, of which each character takes three.
  expect(message).toBe('\u6f22'.repeat(819));
});

test('all termination messages of a pod together are kept within 12 KiB', () => {
  const { manager } = setUp();
  const terminated = { exitCode: 1, message: 'x'.repeat(20_000) };
  const containerStatuses = ['a', 'b'].map((name) => ({ ...apiStatus(name, 1), state: { terminated } }));
  const pod = makePod({ containers: [{ name: 'a' }, { name: 'b' }] });
  manager.setPodStatus(pod, { phase: 'Running', containerStatuses });
  const lengths = manager.getPodStatus('u1')?.containerStatuses?.map(({ state }) => state?.terminated?.message?.length);
  expect(lengths).toEqual([6144, 6144]);
});

test('S6: a static pod has the status of its own mirror pod, not of the mirror pod of an older manifest', () => {
  const withHash = (kind: 'hash' | 'mirror', hash: string): Readonly<Record<string, string>> => ({
    'kubernetes.io/config.source': 'file',
    [`kubernetes.io/config.${kind}`]: hash,
  });
  const base = makeStaticPod();
  const pod = { ...base, metadata: { ...base.metadata, annotations: withHash('hash', 'new') } };
  const startTime = '2025-12-31T00:00:00Z';
  const startBeside = (hash: string): string | undefined => {
    const mirror = { ...base, metadata: { ...base.metadata, annotations: withHash('mirror', hash) } };
    const manager = new StatusManager({
      ...{ clock: new FakeClock(), logger: silentLogger, metrics: noMetrics },
      getMirrorPodByPod: () => ({ ...mirror, status: { phase: 'Running', startTime } }),
    });
    manager.setPodStatus(pod, { phase: 'Pending' });
    return manager.getPodStatus(pod.metadata.uid)?.startTime;
  };
  expect(startBeside('old')).not.toBe(startTime);
  expect(startBeside('new')).toBe(startTime);
});

test.each(['Failed', 'Succeeded'])(
  'F4: a static pod restarts although its mirror pod still shows the phase %s',
  (phase) => {
    const pod = makeStaticPod();
    const message = 'Pod was terminated in response to imminent node shutdown.';
    const shown = { phase, reason: 'Terminated', message, startTime: '2025-12-31T00:00:00Z' };
    const manager = new StatusManager({
      ...{ clock: new FakeClock(), logger: silentLogger, metrics: noMetrics },
      getMirrorPodByPod: () => makePod({}, { status: shown }),
    });
    expect(manager.knownStatus(pod)).toEqual({ startTime: shown.startTime });
    manager.setPodStatus(pod, { phase: 'Pending' });
    expect(manager.getPodStatus(pod.metadata.uid)).toEqual({ phase: 'Pending', startTime: shown.startTime });
  },
);

test.each([
  ['Never', 1],
  ['OnFailure', 0],
])(
  'F4: with restart policy %s a static pod restarts although its mirror pod shows its container as terminated, if the runtime does not know it',
  (restartPolicy, exitCode) => {
    const pod = makeStaticPod({ restartPolicy });
    const state = { terminated: { exitCode, reason: 'Completed', startedAt: '2025-12-31T00:00:00Z' } };
    const main: ContainerStatus = {
      ...{ name: 'main', image: 'i', imageID: 'i' },
      ready: false,
      restartCount: 0,
      state,
    };
    const shown = makePod({}, { status: { phase: 'Succeeded', containerStatuses: [main] } });
    const manager = new StatusManager({
      ...{ clock: new FakeClock(), logger: silentLogger, metrics: noMetrics },
      getMirrorPodByPod: () => shown,
    });
    const seenWith = (...containers: readonly RuntimeContainerStatus[]): PodStatus | undefined => {
      const oldStatus = manager.knownStatus(pod);
      manager.setPodStatus(pod, generateApiPodStatus(pod, runtimeStatus(...containers), makeContext({ oldStatus })));
      return manager.getPodStatus('u1');
    };
    expect(seenWith()?.phase).toBe('Pending');
    expect(seenWith(runtimeContainer())).toMatchObject({
      phase: 'Running',
      containerStatuses: [{ state: { running: {} } }],
    });
  },
);

test('S6: running and restarting containers of a static pod are taken from its mirror pod', () => {
  const containerStatuses = [apiStatus('runs', 'running'), apiStatus('crashed', 1), apiStatus('done', 0)];
  const containers = [...containerStatuses.map(({ name }) => ({ name })), { name: 'unseen' }];
  const pod = makeStaticPod({ restartPolicy: 'OnFailure', containers });
  const shown = makePod({}, { status: { phase: 'Running', containerStatuses } });
  const components = { clock: new FakeClock(), logger: silentLogger, metrics: noMetrics };
  const manager = new StatusManager({ ...components, getMirrorPodByPod: () => shown });
  expect(manager.knownStatus(pod)?.containerStatuses).toEqual(containerStatuses.slice(0, 2));
});

test('P3, F4: the mirror pod of the first instance is ignored for a static pod that finished and starts again', () => {
  const pod = makeStaticPod({ restartPolicy: 'Never' });
  const shown: PodStatus = {
    ...ready('True'),
    startTime: '2025-12-31T00:00:00Z',
    containerStatuses: [apiStatus('main', 'running')],
  };
  const mirror = makePod({}, { status: shown });
  let mirrorUid = 'mirror-1';
  const getMirrorPodByPod = () => ({ ...mirror, metadata: { ...mirror.metadata, uid: mirrorUid } });
  const components = { clock: new FakeClock(), logger: silentLogger, metrics: noMetrics };
  const manager = new StatusManager({ ...components, getMirrorPodByPod });
  const known = new Set(['mirror-1', 'mirror-2']);

  manager.setPodStatus(pod, shown);
  manager.removeOrphanedStatuses(known);
  // The pod has not been terminated yet, so its status is kept.
  expect(manager.knownStatus(pod)).toEqual(shown);
  manager.terminatePod(pod);
  manager.removeOrphanedStatuses(known);
  manager.removeOrphanedStatuses(known);
  expect(manager.knownStatus(pod)).toBeUndefined();
  manager.setPodStatus(pod, generateApiPodStatus(pod, runtimeStatus(), makeContext()));
  expect(manager.getPodStatus('u1')).toMatchObject({ phase: 'Pending', startTime: '2026-01-01T00:00:00Z' });
  manager.removeOrphanedStatuses(known);
  mirrorUid = 'mirror-2';
  expect(manager.knownStatus(pod)).toEqual(shown);
  mirrorUid = 'mirror-1';
  manager.removeOrphanedStatuses(new Set());
  expect(manager.knownStatus(pod)).toEqual(shown);
});

test('P3: a static pod with a reused UID gets a new start time, whatever sandboxes remain', async () => {
  const { manager, clock } = setUp();
  const left = { ...runtimeStatus(), sandboxes: [makeSandbox({ state: 'notReady', createdAtMs: clock.now() })] };
  await clock.advance(60_000);
  manager.resetForNewInstance('u1');
  // The new pod may have to wait for another pod with the same name: its start time is not set before it starts.
  await clock.advance(5000);
  const startTime = '2026-01-01T00:01:05Z';
  const pod = makeStaticPod();
  expect(manager.knownStatus(pod)).toEqual({ startTime });
  const context = makeContext({ oldStatus: manager.knownStatus(pod) });
  manager.setPodStatus(pod, generateApiPodStatus(pod, left, context));
  await clock.advance(5000);
  expect(manager.knownStatus(pod)).toMatchObject({ phase: 'Pending', startTime });

  manager.removeOrphanedStatuses(new Set());
  expect(manager.knownStatus(pod)).toBeUndefined();
  manager.resetForNewInstance('u1');
  // The status of a pod from the API comes from its API object.
  expect(manager.knownStatus(makePod({}, { status: { phase: 'Running' } }))).toEqual({ phase: 'Running' });
  manager.removeOrphanedStatuses(new Set(['u1']));
  expect(manager.knownStatus(pod)).toEqual({ startTime: '2026-01-01T00:01:10Z' });
  manager.removeOrphanedStatuses(new Set());
  expect(manager.knownStatus(pod)).toBeUndefined();
});

describe('probe results in the status manager', () => {
  const container = (name: string, fields: Partial<ContainerStatus> = {}): ContainerStatus => ({
    ...{ name, image: 'x', imageID: 'x', restartCount: 0, ready: false, started: false },
    ...{ containerID: `containerd://${name}-1`, state: { running: { startedAt: '2026-01-01T00:00:00Z' } } },
    ...fields,
  });
  const containers = [
    { name: 'a', image: 'x' },
    { name: 'b', image: 'x' },
  ];
  const pod = makePod({ containers, readinessGates: [{ conditionType: 'gate' }] });
  const shown = (gate: string): PodStatus => ({
    phase: 'Running',
    conditions: [
      { type: 'gate', status: gate },
      { type: 'Ready', status: 'False', reason: 'ContainersNotReady' },
      { type: 'ContainersReady', status: 'False', reason: 'ContainersNotReady' },
    ],
    containerStatuses: [container('a'), container('b', { ready: true })],
  });
  const conditionsOf = (status: PodStatus | undefined) =>
    status?.conditions?.map(({ type, status: value, reason }) => [type, value, reason]);

  test('S7: a probe result makes the pod ready when its last container becomes ready, and sets the transition time', async () => {
    const { manager, clock, changes } = setUp();
    manager.setPodStatus(pod, shown('True'));
    await clock.advance(5000);
    manager.setContainerReadiness('u1', 'a-1', true);
    const status = manager.getPodStatus('u1');
    expect(conditionsOf(status)).toEqual([
      ['gate', 'True', undefined],
      ['Ready', 'True', undefined],
      ['ContainersReady', 'True', undefined],
    ]);
    expect(status?.conditions?.[1]?.lastTransitionTime).toBe('2026-01-01T00:00:05Z');
    expect(status?.containerStatuses?.map(({ ready: value }) => value)).toEqual([true, true]);
    expect(changes).toHaveLength(2);
    manager.setContainerReadiness('u1', 'a-1', false);
    expect(conditionsOf(manager.getPodStatus('u1'))?.[1]).toEqual(['Ready', 'False', 'ContainersNotReady']);
  });

  test('S7: a probe result does not make the pod ready if a readiness gate is not True', () => {
    const { manager } = setUp();
    manager.setPodStatus(pod, shown('False'));
    manager.setContainerReadiness('u1', 'a-1', true);
    expect(conditionsOf(manager.getPodStatus('u1'))?.slice(1)).toEqual([
      ['Ready', 'False', 'ReadinessGatesNotReady'],
      ['ContainersReady', 'True', undefined],
    ]);
  });

  test('a startup probe result shows that a container or sidecar has started', () => {
    const { manager } = setUp();
    manager.setPodStatus(pod, { ...shown('True'), initContainerStatuses: [container('side')] });
    manager.setContainerStartup('u1', 'side-1', true);
    expect(manager.getPodStatus('u1')?.initContainerStatuses?.[0]?.started).toBe(true);
  });

  test('R2: a probe result is ignored for another container, an unknown pod or an unchanged value', () => {
    const { manager, changes } = setUp();
    manager.setContainerReadiness('u1', 'a-1', true);
    manager.setPodStatus(pod, shown('True'));
    manager.setContainerReadiness('u1', 'a-0', true);
    manager.setContainerReadiness('u1', '', true);
    manager.setContainerReadiness('u1', 'b-1', true);
    manager.setContainerStartup('u1', 'a-1', false);
    expect(changes).toHaveLength(1);
  });
});

test('S6: a static pod has the status of its mirror pod before one was generated', () => {
  const staticPod = makeStaticPod();
  const known = ready('True');
  const mirror = makePod({}, { status: known });
  const components = { clock: new FakeClock(), logger: silentLogger, metrics: noMetrics };
  const manager = new StatusManager({ ...components, getMirrorPodByPod: () => mirror });
  expect(manager.knownStatus(staticPod)).toEqual(known);
  manager.setPodStatus(staticPod, ready('False'));
  expect(manager.knownStatus(staticPod)?.conditions?.[0]?.status).toBe('False');
});

test('S6: the terminations of a static pod’s init containers are not taken from its mirror pod', () => {
  const init = (name: string, state: NonNullable<ContainerStatus['state']>): ContainerStatus => ({
    ...{ name, state, ready: true, restartCount: 0, image: 'i', imageID: 'i' },
  });
  const ended = init('ended', { terminated: { exitCode: 0, reason: 'Completed' } });
  const sidecar = init('sidecar', { running: {} });
  const mirror = makePod({}, { status: { ...ready('True'), initContainerStatuses: [ended, sidecar] } });
  const components = { clock: new FakeClock(), logger: silentLogger, metrics: noMetrics };
  const manager = new StatusManager({ ...components, getMirrorPodByPod: () => mirror });
  expect(manager.knownStatus(makeStaticPod())).toEqual({ ...ready('True'), initContainerStatuses: [sidecar] });
});
