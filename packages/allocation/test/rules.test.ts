import type { Pod, PodCondition, RuntimePodStatus } from '@node-agent/pod-spec';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  asksForMore,
  compareResizes,
  isResizeInProgress,
  resizeOperations,
  resizeRefusal,
  resourcesOf,
  type WaitingResize,
  withResources,
} from '../src/index.ts';
import { conditionList, conditionsOf, withInProgress, withPending } from '../src/resize-conditions.ts';
import { resizeMessage } from '../src/resize-message.ts';
import { asking, exactly, makePod } from './pods.ts';

describe('what was granted', () => {
  test('takes the place of what is asked for, and of nothing else', () => {
    const pod = makePod('a', exactly('1', '1Gi'));
    const granted = resourcesOf(pod);
    expect(withResources(pod, granted)).toBe(pod);
    const larger = asking(pod, exactly('2', '1Gi'));
    const allocated = withResources(larger, granted);
    expect(allocated.spec).toEqual(pod.spec);
    expect(allocated.metadata).toBe(larger.metadata);
    // Another writing of the same is the same.
    const same = asking(pod, exactly('1000m', '1024Mi'));
    expect(withResources(same, granted)).toBe(same);
  });

  test('is of init containers and of the pod as a whole as well, as far as their gates are on', () => {
    const container = { name: 'c', image: 'i' };
    const init = [
      { name: 'once', image: 'i', resources: exactly('1', '1Gi') },
      { name: 'side', image: 'i', restartPolicy: 'Always', resources: exactly('1', '1Gi') },
    ];
    const pod = makePod('a', {}, { containers: [container], initContainers: init, resources: exactly('2', '2Gi') });
    expect(Object.keys(resourcesOf(pod).containers)).toEqual(['once', 'side', 'c']);
    expect(Object.keys(resourcesOf(pod, { initContainers: false }).containers)).toEqual(['side', 'c']);
    expect(resourcesOf(pod).pod).toEqual(exactly('2', '2Gi'));
    expect(resourcesOf(pod, { podLevel: false }).pod).toBeUndefined();
    const asks: Pod = { ...pod, spec: { ...pod.spec, resources: exactly('3', '3Gi') } };
    expect(withResources(asks, resourcesOf(pod)).spec.resources).toEqual(exactly('2', '2Gi'));
    expect(withResources(asks, resourcesOf(pod), { podLevel: false })).toBe(asks);
  });

  test('asking for more of CPU or memory is asking for more', () => {
    const pod = makePod('a', exactly('1', '1Gi'));
    expect(asksForMore(pod, pod)).toBe(false);
    expect(asksForMore(asking(pod, exactly('500m', '2Gi')), pod)).toBe(true);
    expect(asksForMore(asking(pod, exactly('500m', '1Gi')), pod)).toBe(false);
    expect(asksForMore(asking(pod, exactly('1', '1Gi')), makePod('a'))).toBe(true);
  });
});

describe('who is tried first', () => {
  const waiting = (name: string, more: Partial<WaitingResize> & { priority?: number } = {}): WaitingResize => ({
    pod: makePod(name, more.pod ? {} : exactly('1', '1Gi'), { priority: more.priority ?? 0 }),
    increases: true,
    pendingSinceMs: 1,
    ...more,
  });
  const burstable = makePod('burstable', { requests: { cpu: '1' } });

  test.each([
    ['one that asks for no more', waiting('a', { increases: false, priority: -5 }), waiting('b', { priority: 9 })],
    [
      'the higher priority',
      waiting('a', { priority: 5, pod: { ...burstable, spec: { ...burstable.spec, priority: 5 } } }),
      waiting('b', { priority: 4 }),
    ],
    ['Guaranteed', waiting('a', { pendingSinceMs: 9 }), waiting('b', { pod: burstable, pendingSinceMs: 1 })],
    ['who has waited longer', waiting('a', { pendingSinceMs: 1 }), waiting('b', { pendingSinceMs: 2 })],
    [
      'who was put off before who was not',
      waiting('a', { pendingSinceMs: 9 }),
      waiting('b', { pendingSinceMs: undefined }),
    ],
  ])('%s', (_what, first, second) => {
    expect(compareResizes(first, second)).toBeLessThan(0);
    expect(compareResizes(second, first)).toBeGreaterThan(0);
  });

  test('is an order', () => {
    const one = fc
      .record({
        increases: fc.boolean(),
        priority: fc.integer({ min: 0, max: 2 }),
        burstable: fc.boolean(),
        pendingSinceMs: fc.option(fc.integer({ min: 0, max: 2 }), { nil: undefined }),
      })
      .map(({ increases, priority, burstable: lower, pendingSinceMs }) => ({
        pod: makePod('p', lower ? { requests: { cpu: '1' } } : exactly('1', '1Gi'), { priority }),
        increases,
        pendingSinceMs,
      }));
    fc.assert(
      fc.property(one, one, one, (a, b, c) => {
        expect(Math.sign(compareResizes(a, b)) + Math.sign(compareResizes(b, a))).toBe(0);
        if (compareResizes(a, b) <= 0 && compareResizes(b, c) <= 0) expect(compareResizes(a, c)).toBeLessThanOrEqual(0);
      }),
    );
  });
});

describe('what this node cannot give, however much room there is', () => {
  const pod = makePod('a', exactly('1', '1Gi'));
  const cpu = asking(pod, exactly('2', '1Gi'));
  const memory = asking(pod, exactly('1', '2Gi'));
  const swapping = makePod('a', { requests: { memory: '1Gi' }, limits: { memory: '2Gi' } });
  const swapMore = asking(swapping, { requests: { memory: '1536Mi' }, limits: { memory: '2Gi' } });
  const whole = makePod('a', {}, { resources: exactly('1', '1Gi') });
  const wholeMore: Pod = { ...whole, spec: { ...whole.spec, resources: exactly('2', '1Gi') } };
  const CPUS = 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"';
  const MEMORY = 'Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"';

  test.each([
    ['nothing of the kind', cpu, pod, {}, undefined],
    ['exclusive CPUs', cpu, pod, { staticCpus: true }, CPUS],
    ['exclusive CPUs, with their gate', cpu, pod, { staticCpus: true, exclusiveCpus: true }, undefined],
    ['exclusive CPUs, and memory that changes', memory, pod, { staticCpus: true }, undefined],
    ['exclusive memory', memory, pod, { staticMemory: true }, MEMORY],
    ['exclusive memory, with its gate', memory, pod, { staticMemory: true, exclusiveMemory: true }, undefined],
    ['exclusive CPUs, and a Burstable pod', swapMore, swapping, { staticCpus: true, staticMemory: true }, undefined],
    ['swap', swapMore, swapping, { limitedSwap: true }, 'In-place resize of containers with swap is not supported.'],
    ['swap, and a Guaranteed pod, which has none', memory, pod, { limitedSwap: true }, undefined],
    ['a pod as a whole', wholeMore, whole, {}, undefined],
    [
      'a pod as a whole, without the gate',
      ...([wholeMore, whole, { podLevel: false }, 'InPlacePodLevelResourcesVerticalScaling is disabled'] as const),
    ],
  ])('%s', (_what, asks, granted, node, message) => {
    expect(resizeRefusal(asks, granted, node)?.message).toBe(message);
  });

  test('swap does not hinder a container that begins anew for its memory', () => {
    const [container] = swapping.spec.containers;
    const resizePolicy = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }];
    const before = makePod('a', {}, { containers: [{ ...(container as object), resizePolicy } as never] });
    const after = asking(before, { requests: { memory: '1536Mi' }, limits: { memory: '2Gi' } });
    expect(resizeRefusal(after, before, { limitedSwap: true })).toBeUndefined();
  });
});

describe('conditions', () => {
  const [NOON, LATER] = ['2026-01-01T12:00:00Z', '2026-01-01T13:00:00Z'];

  test('a wait keeps its time until its reason is another, and is told of again for another generation', () => {
    const first = withPending({}, { reason: 'Deferred', message: 'full', observedGeneration: 2 }, NOON);
    expect(first.told).toBe(true);
    expect(conditionList(first.conditions)).toEqual([
      {
        type: 'PodResizePending',
        status: 'True',
        reason: 'Deferred',
        message: 'full',
        observedGeneration: 2,
        lastProbeTime: NOON,
        lastTransitionTime: NOON,
      },
    ]);
    const same = withPending(first.conditions, { reason: 'Deferred', message: 'full', observedGeneration: 2 }, LATER);
    expect(same.told).toBe(false);
    expect(same.conditions.pending).toBe(first.conditions.pending);
    const fuller = withPending(first.conditions, { reason: 'Deferred', message: 'x', observedGeneration: 2 }, LATER);
    expect([fuller.told, fuller.conditions.pending?.lastTransitionTime]).toEqual([false, NOON]);
    const next = withPending(first.conditions, { reason: 'Deferred', message: 'full', observedGeneration: 3 }, LATER);
    expect([next.told, next.conditions.pending?.lastTransitionTime]).toEqual([true, NOON]);
    const never = withPending(first.conditions, { reason: 'Infeasible', message: 'no', observedGeneration: 2 }, LATER);
    expect([never.told, never.conditions.pending?.lastTransitionTime]).toEqual([true, LATER]);
  });

  test('an error of a resize that is under way stays until it ends, and so does its generation', () => {
    const began = withInProgress({}, { observedGeneration: 2 }, NOON);
    const failed = withInProgress(began.conditions, { reason: 'Error', message: 'no', observedGeneration: 3 }, LATER);
    expect(failed.told).toBe(true);
    expect(failed.conditions.inProgress).toMatchObject({ reason: 'Error', message: 'no', observedGeneration: 2 });
    const again = withInProgress(failed.conditions, { observedGeneration: 3 }, LATER);
    expect(again.told).toBe(false);
    expect(again.conditions.inProgress).toBe(failed.conditions.inProgress);
  });

  test('what the API shows is taken over', () => {
    const shown = (type: string): PodCondition => ({ type, status: 'True' });
    const all = ['Ready', 'PodResizeInProgress', 'PodResizePending'].map(shown);
    expect(conditionList(conditionsOf(all)).map(({ type }) => type)).toEqual([
      'PodResizePending',
      'PodResizeInProgress',
    ]);
    expect(conditionsOf(undefined)).toEqual({});
  });
});

test('what an update asks for is counted, resource by resource', () => {
  const pod = makePod('a', { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1' } });
  const after = asking(pod, { requests: { cpu: '2' }, limits: { cpu: '500m', memory: '2Gi' } });
  expect(resizeOperations(pod, after)).toEqual([
    { resource: 'memory', requirement: 'requests', operation: 'remove' },
    { resource: 'memory', requirement: 'limits', operation: 'add' },
    { resource: 'cpu', requirement: 'requests', operation: 'increase' },
    { resource: 'cpu', requirement: 'limits', operation: 'decrease' },
  ]);
  expect(
    resizeOperations(pod, asking(pod, { requests: { cpu: '1000m', memory: '1024Mi' }, limits: { cpu: '1' } })),
  ).toEqual([]);
});

test('the text of an event has all resources, in upstream’s JSON', () => {
  const pod = makePod('a', exactly('1', '1Gi'), {
    initContainers: [{ name: 'i', image: 'i' }],
  });
  expect(resizeMessage('Pod resize Deferred', pod, 3, 'a < b')).toBe(
    'Pod resize Deferred: {"initContainers":[{"name":"i","resources":{}}],"containers":[{"name":"c","resources":' +
      '{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"1","memory":"1Gi"}}}],"generation":3,"error":"a \\u003c b"}',
  );
});

describe('whether a resize goes on', () => {
  const status = (state: 'running' | 'exited'): RuntimePodStatus =>
    ({ containers: [{ name: 'c', state }] }) as unknown as RuntimePodStatus;
  const pod = makePod('a', exactly('1', '1Gi'));
  const whole = makePod('a', {}, { resources: exactly('1', '1Gi') });

  test.each([
    ['it has all of it', pod, status('running'), { containers: { c: exactly('1000m', '1Gi') } }, false],
    ['it has less', pod, status('running'), { containers: { c: exactly('500m', '1Gi') } }, true],
    ['nothing is known of it', pod, status('running'), undefined, true],
    ['it does not run', pod, status('exited'), { containers: { c: exactly('500m', '1Gi') } }, false],
    [
      'the limit is the pod’s',
      whole,
      status('running'),
      { containers: { c: { limits: exactly('1', '1Gi').limits ?? {} } }, pod: exactly('1', '1Gi') },
      false,
    ],
    ['the pod has less', whole, status('exited'), { containers: {}, pod: exactly('1', '512Mi') }, true],
  ])('%s', (_what, granted, runtime, applied, goesOn) => {
    expect(isResizeInProgress(granted, runtime, applied)).toBe(goesOn);
  });
});
