import type { ContainerStatus, Pod, PodCondition, PodPhase } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { isKubeletCondition, kubeletConditions, readinessPhase, readyConditions } from '../src/conditions.ts';
import { apiStatus, makePod } from './builders.ts';

const SIDECAR = { name: 'proxy', restartPolicy: 'Always' };
const ready = (name: string): ContainerStatus => apiStatus(name, 'running', { ready: true, started: true });

function conditionsOf(
  pod: Pod,
  phase: PodPhase,
  statuses: readonly ContainerStatus[],
  old: readonly PodCondition[] = [],
) {
  const all = kubeletConditions({
    ...{ pod, phase, statuses, otherConditions: [], sandboxReady: true, restartsAll: undefined },
    oldStatus: { conditions: old },
    isOver: true,
  });
  return (type: string) => all.find((condition) => condition.type === type);
}

test('the kubelet writes exactly eight condition types', () => {
  const own = ['PodScheduled', 'Ready', 'Initialized', 'ContainersReady', 'PodResizeInProgress', 'PodResizePending'];
  const all = [
    ...own,
    'PodReadyToStartContainers',
    'AllContainersRestarting',
    'DisruptionTarget',
    'example.com/lb',
    '',
  ];
  expect(all.filter(isKubeletCondition)).toEqual(all.slice(0, 8));
});

test.each<[string, PodPhase, NonNullable<ContainerStatus['state']>, boolean, PodPhase]>([
  ['an evicted pod whose container runs', 'Failed', { running: {} }, false, 'Running'],
  ['an evicted pod whose container has stopped', 'Failed', { terminated: { exitCode: 0 } }, false, 'Failed'],
  ['an evicted pod whose container never ran', 'Failed', { waiting: {} }, false, 'Failed'],
  ['a pod over its deadline whose container runs', 'Failed', { running: {} }, true, 'Failed'],
  ['a succeeded pod', 'Succeeded', { terminated: { exitCode: 0 } }, false, 'Succeeded'],
  ['a running pod', 'Running', { running: {} }, false, 'Running'],
])('S7: the phase that determines the readiness of %s with phase %s is $4', (_what, phase, state, isOver, expected) => {
  const statuses = [{ ...apiStatus('main', 'running'), state }];
  expect(readinessPhase(makePod(), phase, statuses, isOver)).toBe(expected);
});

test('a pod without a generation has conditions without one', () => {
  for (const condition of readyConditions({ pod: makePod(), phase: 'Running', statuses: [], otherConditions: [] })) {
    expect(condition).not.toHaveProperty('observedGeneration');
  }
});

describe('ContainersReady', () => {
  const pod = makePod({ initContainers: [{ name: 'init' }, SIDECAR], containers: [{ name: 'a' }, { name: 'b' }] });
  const init = apiStatus('init', 0);
  const notReady = (message: string) => ({ status: 'False', reason: 'ContainersNotReady', message });
  test.each<[string, PodPhase, readonly ContainerStatus[], object]>([
    [
      'all are ready, whatever init containers are',
      'Running',
      [init, ready('proxy'), ready('a'), ready('b')],
      { status: 'True' },
    ],
    [
      'a sidecar is not ready',
      'Running',
      [init, apiStatus('proxy', 'running'), ready('a'), ready('b')],
      notReady('containers with unready status: [proxy]'),
    ],
    ['no container status is known', 'Pending', [], notReady('containers with unknown status: [proxy a b]')],
    [
      'one container is unknown, and others are not ready',
      'Running',
      [ready('proxy'), apiStatus('a', 'waiting')],
      notReady('containers with unknown status: [b], containers with unready status: [a]'),
    ],
    [
      'all have succeeded',
      'Succeeded',
      [apiStatus('proxy', 0), apiStatus('a', 0), apiStatus('b', 0)],
      { status: 'False', reason: 'PodCompleted' },
    ],
    [
      'the pod has succeeded, and one container is unknown',
      'Succeeded',
      [ready('proxy'), ready('a')],
      notReady('containers with unknown status: [b]'),
    ],
    [
      'the pod has failed',
      'Failed',
      [ready('proxy'), ready('a'), ready('b')],
      { status: 'False', reason: 'PodFailed' },
    ],
  ])('the conditions ContainersReady and Ready if %s: $3', (_name, phase, statuses, expected) => {
    const of = conditionsOf(pod, phase, statuses);
    expect(of('ContainersReady')).toEqual({ type: 'ContainersReady', ...expected });
    expect(of('Ready')).toEqual({ type: 'Ready', ...expected });
  });
});

test('S7: the message of the Ready condition names each readiness gate that is not True', () => {
  const pod = makePod({ readinessGates: [{ conditionType: 'lb' }, { conditionType: 'dns' }] });
  const lb = { type: 'lb', status: 'Unknown' };
  const [told] = readyConditions({ pod, phase: 'Running', statuses: [ready('main')], otherConditions: [lb] });
  expect(told).toEqual({
    type: 'Ready',
    status: 'False',
    reason: 'ReadinessGatesNotReady',
    message:
      'the status of pod readiness gate "lb" is not "True", but Unknown, corresponding condition of pod readiness gate "dns" does not exist.',
  });
});

describe('Initialized', () => {
  const pod = makePod({ initContainers: [{ name: 'init' }, SIDECAR], containers: [{ name: 'a' }, { name: 'b' }] });
  const done = apiStatus('init', 0, { ready: true });
  const startedOnly = apiStatus('proxy', 'running', { started: true });
  const readyOnly = apiStatus('proxy', 'running', { ready: true, started: false });
  const waiting = [apiStatus('a', 'waiting'), apiStatus('b', 'waiting')];
  const not = (message: string) => ({ status: 'False', reason: 'ContainersNotInitialized', message });
  test.each<[string, PodPhase, readonly ContainerStatus[], object]>([
    [
      'init containers have completed, and sidecars have started',
      'Pending',
      [done, startedOnly, ...waiting],
      { status: 'True' },
    ],
    [
      'a sidecar is ready but has not started',
      'Pending',
      [done, readyOnly, ...waiting],
      not('containers with incomplete status: [proxy]'),
    ],
    [
      'an init container has started but not completed',
      'Pending',
      [apiStatus('init', 'running', { started: true }), startedOnly, ...waiting],
      not('containers with incomplete status: [init]'),
    ],
    [
      'one init container is unknown, and one has not completed',
      'Pending',
      [apiStatus('proxy', 'waiting'), ...waiting],
      not('containers with unknown status: [init], containers with incomplete status: [proxy]'),
    ],
    ['a main container runs, whatever init containers do', 'Running', [ready('a')], { status: 'True' }],
    ['a main container has run', 'Running', [apiStatus('a', 1), apiStatus('b', 'waiting')], { status: 'True' }],
    ['the pod has succeeded', 'Succeeded', [done, readyOnly], { status: 'True', reason: 'PodCompleted' }],
    [
      'the pod has succeeded, and one init container is unknown',
      'Succeeded',
      [done],
      not('containers with unknown status: [proxy]'),
    ],
  ])('the condition Initialized if %s: $3', (_name, phase, statuses, expected) => {
    expect(conditionsOf(pod, phase, statuses)('Initialized')).toEqual({ type: 'Initialized', ...expected });
  });

  test('a pod without init containers is initialized before anything runs', () => {
    expect(conditionsOf(makePod(), 'Pending', [])('Initialized')).toEqual({ type: 'Initialized', status: 'True' });
  });

  test('an initialized pod stays initialized while its init containers run again', () => {
    const statuses = [apiStatus('init', 'running'), apiStatus('proxy', 'waiting'), ...waiting];
    const before = (type: string, status: string) => [
      { type: 'Ready', status: 'False' },
      { type, status },
    ];
    const told = (old: readonly PodCondition[]) => conditionsOf(pod, 'Pending', statuses, old)('Initialized');
    expect(told(before('Initialized', 'True'))).toEqual({ type: 'Initialized', status: 'True' });
    expect(told(before('Initialized', 'False'))?.status).toBe('False');
    expect(told(before('PodScheduled', 'True'))?.status).toBe('False');
  });
});
