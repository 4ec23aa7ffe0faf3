import type { PodCondition, PodStatus } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { mergePodStatus } from '../src/merge.ts';
import { apiStatus, makePod } from './builders.ts';

const now = Date.UTC(2026, 0, 1, 0, 0, 30);
const merge = (api: PodStatus, next: PodStatus, couldHaveRunningContainers = false): PodStatus =>
  mergePodStatus(makePod({}, { status: api }), next, { couldHaveRunningContainers, nowMs: now });
const condition = (type: string, status: string, more: Partial<PodCondition> = {}): PodCondition => ({
  type,
  status,
  lastTransitionTime: '2026-01-01T00:00:00Z',
  ...more,
});
const find = (status: PodStatus, type: string) => status.conditions?.find((one) => one.type === type);

describe('merged phases', () => {
  test.each([
    ['Pending', 'Running', true, 'Running'],
    ['Running', 'Succeeded', false, 'Succeeded'],
    ['Running', 'Failed', true, 'Running'],
    [undefined, 'Failed', true, undefined],
    [undefined, 'Pending', false, 'Pending'],
    ['Running', undefined, false, 'Running'],
  ])(
    'S2: a change of phase from %s to %s while containers may run (%s) is written as %s',
    (from, to, running, expected) => {
      const merged = merge({ ...(from && { phase: from }) }, { ...(to && { phase: to }) }, running);
      expect(merged.phase).toBe(expected);
    },
  );

  test('S2: reason and message are withheld together with the terminal phase, and other fields are written', () => {
    const next = { phase: 'Failed', reason: 'Evicted', message: 'low on memory', podIP: '10.0.0.7' };
    expect(merge({ phase: 'Running', reason: 'Old' }, next, true)).toMatchObject({
      phase: 'Running',
      reason: 'Old',
      podIP: '10.0.0.7',
    });
    expect(merge({ phase: 'Running', reason: 'Old' }, next, true).message).toBeUndefined();
    expect(merge({ phase: 'Running', reason: 'Old' }, next)).toMatchObject(next);
  });

  test.each([
    ['Failed', 'Running'],
    ['Succeeded', 'Running'],
    ['Succeeded', 'Failed'],
    ['Failed', 'Succeeded'],
    ['Failed', 'Pending'],
  ])('S1: keeps the API’s %s instead of %s', (from, to) => {
    const merged = merge({ phase: from, reason: 'DeletionByTaintManager' }, { phase: to, reason: 'Other' });
    expect(merged).toMatchObject({ phase: from, reason: 'DeletionByTaintManager' });
  });
});

test('F4: a mirror pod shows that its static pod restarts, even if it was terminal', () => {
  const annotations = { 'kubernetes.io/config.mirror': 'hash' };
  const shown = {
    phase: 'Failed',
    reason: 'Terminated',
    message: 'Pod was terminated in response to imminent node shutdown.',
  };
  const mirror = {
    metadata: { name: 'web-n1', namespace: 'kube-system', uid: 'm', annotations },
    spec: { containers: [] },
    status: shown,
  };
  const merged = mergePodStatus(mirror, { phase: 'Running' }, { couldHaveRunningContainers: true, nowMs: 0 });
  expect(merged).toMatchObject({ phase: 'Running' });
  expect(merged).not.toHaveProperty('reason');
  expect(merged).not.toHaveProperty('message');
});

describe('fields that other clients write', () => {
  const gate = condition('example.com/ready', 'True');
  test('S4: conditions of other writers come from the API, not from the kubelet’s status', () => {
    const stale = condition('example.com/ready', 'False');
    const merged = merge({ conditions: [gate] }, { conditions: [stale, condition('Ready', 'True')] });
    expect(merged.conditions).toEqual([gate, condition('Ready', 'True')]);
  });

  test('S4: a kubelet condition that is no longer reported is removed', () => {
    const merged = merge({ conditions: [condition('PodResizePending', 'True'), gate] }, { conditions: [] });
    expect(merged.conditions).toEqual([gate]);
  });

  test('S4: known and unknown fields of other writers are kept', () => {
    const foreign = {
      nominatedNodeName: 'node-2',
      resourceClaimStatuses: [{ name: 'gpu' }],
      somethingNew: { a: 1 },
    };
    expect(merge({ ...foreign, podIP: '10.0.0.1' }, { phase: 'Running' })).toEqual({
      ...foreign,
      phase: 'Running',
      conditions: [],
    });
  });

  test.each([
    'hostIP',
    'hostIPs',
    'podIP',
    'podIPs',
    'startTime',
    'reason',
    'message',
    'initContainerStatuses',
    'containerStatuses',
    'ephemeralContainerStatuses',
    'allocatedResources',
    'resources',
  ])('S4: the kubelet’s field %s is removed if it is no longer reported', (field) => {
    expect(merge({ [field]: 'x' as never }, { phase: 'Running' })).not.toHaveProperty(field);
  });

  test.each<[PodStatus, PodStatus, PodStatus]>([
    [{}, { observedGeneration: 1, qosClass: 'Guaranteed' }, { observedGeneration: 1, qosClass: 'Guaranteed' }],
    [{ observedGeneration: 3 }, {}, { observedGeneration: 3 }],
    [{ observedGeneration: 3 }, { observedGeneration: 4 }, { observedGeneration: 4 }],
    [{ qosClass: 'Burstable' }, { qosClass: 'Guaranteed' }, { qosClass: 'Guaranteed' }],
    [{}, {}, {}],
  ])(
    "merging generation and QoS class of the API's status %j with the kubelet's %j gives %j",
    (api, next, expected) => {
      expect(merge(api, next)).toStrictEqual({ conditions: [], ...expected });
    },
  );

  test('the QoS class and the newest observed generation are kept', () => {
    expect(merge({ qosClass: 'Burstable', observedGeneration: 4 }, { observedGeneration: 3 })).toMatchObject({
      qosClass: 'Burstable',
      observedGeneration: 4,
    });
  });

  test.each([
    ['written together with the terminal phase', { phase: 'Running' }, { phase: 'Failed' }, false, 'True'],
    ['not written before the pod has terminated', { phase: 'Running' }, { phase: 'Failed' }, true, undefined],
    ['not written for a running pod', { phase: 'Running' }, { phase: 'Running' }, false, undefined],
    ['not written after the terminal phase', { phase: 'Failed' }, { phase: 'Failed' }, false, undefined],
  ])('DisruptionTarget is %s', (_name, api, next, running, expected) => {
    const conditions = [condition('DisruptionTarget', 'True', { reason: 'TerminationByKubelet' })];
    const merged = merge(api, { ...next, conditions }, running);
    expect(find(merged, 'DisruptionTarget')?.status).toBe(expected);
    if (expected) expect(find(merged, 'DisruptionTarget')?.lastTransitionTime).toBe('2026-01-01T00:00:30Z');
  });

  test('DisruptionTarget of another writer is kept until the kubelet has its own', () => {
    const theirs = condition('DisruptionTarget', 'True', { reason: 'EvictionByEvictionAPI' });
    const own = condition('DisruptionTarget', 'True', { reason: 'TerminationByKubelet' });
    const next = { phase: 'Failed', conditions: [own] };
    expect(merge({ phase: 'Running', conditions: [theirs] }, next, true).conditions).toEqual([theirs]);
    expect(merge({ phase: 'Running', conditions: [theirs] }, next).conditions).toEqual([own]);
    expect(merge({ phase: 'Running', conditions: [gate, theirs] }, next).conditions).toEqual([gate, own]);
  });
});

test.each([
  ['Failed', 'PodFailed'],
  ['Succeeded', 'PodCompleted'],
])('a pod that has terminated as %s is not ready', (phase, reason) => {
  const conditions = [
    condition('Ready', 'True'),
    condition('ContainersReady', 'False'),
    condition('Initialized', 'True'),
  ];
  const merged = merge({ phase: 'Running' }, { phase, conditions });
  expect(find(merged, 'Ready')).toEqual({
    type: 'Ready',
    status: 'False',
    reason,
    lastTransitionTime: '2026-01-01T00:00:30Z',
  });
  expect(find(merged, 'ContainersReady')).toMatchObject({ reason, lastTransitionTime: '2026-01-01T00:00:00Z' });
  expect(find(merged, 'Initialized')?.status).toBe('True');
});

test('merging a terminal phase keeps Ready and ContainersReady conditions that are already False', () => {
  const conditions = [condition('Ready', 'False', { reason: 'x' }), condition('ContainersReady', 'False')];
  expect(merge({ phase: 'Running' }, { phase: 'Failed', conditions }).conditions).toEqual(conditions);
});

test.each([7, undefined])(
  'a terminated pod of generation %s is not ready, even without a condition before',
  (generation) => {
    const pod = makePod({}, { status: { phase: 'Running' } });
    const metadata = { ...pod.metadata, ...(generation !== undefined && { generation }) };
    const next = { phase: 'Failed', conditions: [condition('Initialized', 'True'), condition('Ready', 'True')] };
    const { conditions } = mergePodStatus({ ...pod, metadata }, next, {
      couldHaveRunningContainers: false,
      nowMs: now,
    });
    const ended = {
      ...{ status: 'False', reason: 'PodFailed', lastTransitionTime: '2026-01-01T00:00:30Z' },
      ...(generation !== undefined && { observedGeneration: generation }),
    };
    expect(conditions).toStrictEqual([
      condition('Initialized', 'True'),
      { type: 'Ready', ...ended },
      { type: 'ContainersReady', ...ended },
    ]);
  },
);

test('S3: restart counts do not decrease', () => {
  const merged = merge(
    {
      containerStatuses: [apiStatus('main', 'running', { restartCount: 5 })],
      initContainerStatuses: [apiStatus('init', 0, { restartCount: 2 })],
    },
    {
      containerStatuses: [apiStatus('main', 'running', { restartCount: 1 }), apiStatus('new', 'running')],
      initContainerStatuses: [apiStatus('init', 0, { restartCount: 3 })],
    },
  );
  expect(merged.containerStatuses?.map(({ restartCount }) => restartCount)).toEqual([5, 0]);
  expect(merged.initContainerStatuses?.map(({ restartCount }) => restartCount)).toEqual([3]);
  expect(Object.keys(merged).sort()).toEqual(['conditions', 'containerStatuses', 'initContainerStatuses']);
});

test.each([
  ['Failed', 'terminated'],
  ['Running', 'waiting'],
])(
  'S1: in a pod whose phase in the API is %s, a terminated container that the kubelet reports as waiting is shown as %s',
  (phase, shown) => {
    const waiting = { ...apiStatus('main', 'running'), state: { waiting: { reason: 'ContainerCreating' } } };
    const merged = merge(
      { phase, containerStatuses: [apiStatus('main', 1)], initContainerStatuses: [apiStatus('init', 0)] },
      { phase: 'Failed', containerStatuses: [waiting], initContainerStatuses: [{ ...waiting, name: 'init' }] },
    );
    const states = [...(merged.initContainerStatuses ?? []), ...(merged.containerStatuses ?? [])];
    expect(states.map(({ state }) => Object.keys(state ?? {}))).toEqual([[shown], [shown]]);
  },
);

test.each(['Failed', 'Running'])(
  'S8: in a pod whose phase in the API is %s, an ephemeral container that has terminated stays terminated, because the API server rejects any other status',
  (phase) => {
    const ended = apiStatus('debug', 0);
    const states = [{ waiting: { reason: 'ContainerCreating' } }, { running: {} }];
    for (const state of states) {
      const merged = merge(
        { phase, ephemeralContainerStatuses: [ended] },
        { phase: 'Running', ephemeralContainerStatuses: [{ ...ended, state }, apiStatus('new', 'running')] },
      );
      expect(merged.ephemeralContainerStatuses).toEqual([ended, apiStatus('new', 'running')]);
    }
  },
);

test.each([
  ['OnFailure', 0, undefined, 'terminated'],
  ['OnFailure', 1, undefined, 'waiting'],
  ['Never', 1, undefined, 'terminated'],
  ['Never', 1, 'OnFailure', 'waiting'],
  ['Always', 0, undefined, 'waiting'],
  ['OnFailure', 0, 'Always', 'waiting'],
] as const)(
  'S8: with policy %s, an init container that exited with %i (own policy: %s) and runs again in a new sandbox is shown as %s, as the API server allows',
  (restartPolicy, exitCode, own, shown) => {
    const init = { name: 'init', image: 'busybox:1', ...(own && { restartPolicy: own }) };
    const status = { phase: 'Running', podIP: '10.0.0.1', initContainerStatuses: [apiStatus('init', exitCode)] };
    const pod = makePod({ restartPolicy, initContainers: [init] }, { status });
    const next = { phase: 'Pending', podIP: '10.0.0.2', initContainerStatuses: [apiStatus('init', 'waiting')] };
    const merged = mergePodStatus(pod, next, { couldHaveRunningContainers: true, nowMs: now });
    expect(merged).toMatchObject({ phase: 'Pending', podIP: '10.0.0.2' });
    expect(Object.keys(merged.initContainerStatuses?.[0]?.state ?? {})).toEqual([shown]);
  },
);

test('F4: the status of a mirror pod shows that its init containers run again, so that the API server rejects it and the mirror pod is replaced', () => {
  const annotations = { 'kubernetes.io/config.mirror': 'hash' };
  const pod = makePod({ restartPolicy: 'OnFailure', initContainers: [{ name: 'init', image: 'busybox:1' }] });
  const mirror = {
    ...{ ...pod, metadata: { ...pod.metadata, annotations } },
    status: { initContainerStatuses: [apiStatus('init', 0)] },
  };
  const waiting = apiStatus('init', 'waiting');
  const context = { couldHaveRunningContainers: true, nowMs: now };
  expect(mergePodStatus(mirror, { initContainerStatuses: [waiting] }, context).initContainerStatuses).toEqual([
    waiting,
  ]);
});
