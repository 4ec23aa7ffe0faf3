import type { Pod, PodCondition, ResourceRequirements, RuntimePodStatus } from '@node-agent/pod-spec';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  asksForMore,
  compareResizes,
  isResizeInProgress,
  type PodResources,
  type ResizeFeatures,
  resizeOperations,
  resizeRefusal,
  resourcesOf,
  type WaitingResize,
  withResources,
} from '../src/index.ts';
import { conditionList, conditionsOf, withInProgress, withPending } from '../src/resize-conditions.ts';
import { resizeMessage } from '../src/resize-message.ts';
import { podLevelChanges } from '../src/resize-operations.ts';
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

  test('takes the place of what one container of several asks for, an init container too', () => {
    const init = [
      { name: 'first', image: 'i', resources: exactly('1', '1Gi') },
      { name: 'second', image: 'i', resources: exactly('1', '1Gi') },
    ];
    const containers = init.map((one) => ({ ...one, name: `main-${one.name}` }));
    const pod = makePod('a', {}, { containers, initContainers: init });
    const larger = <C extends { readonly name: string }>(of: readonly C[], name: string): C[] =>
      of.map((one) => (one.name === name ? { ...one, resources: exactly('2', '2Gi') } : one));
    const asks: Pod = { ...pod, spec: { ...pod.spec, containers: larger(pod.spec.containers, 'main-second') } };
    expect(withResources(asks, resourcesOf(pod)).spec).toEqual(pod.spec);
    const initAsks: Pod = {
      ...pod,
      spec: { ...pod.spec, initContainers: larger(pod.spec.initContainers ?? [], 'second') },
    };
    expect(withResources(initAsks, resourcesOf(pod)).spec).toEqual(pod.spec);
  });

  test('is nothing for the pod as a whole where that had nothing', () => {
    const pod = makePod('a', exactly('1', '1Gi'));
    const asks: Pod = { ...pod, spec: { ...pod.spec, resources: exactly('2', '2Gi') } };
    expect(withResources(asks, resourcesOf(pod)).spec).not.toHaveProperty('resources');
  });

  test('is nobody’s by a name that every object inherits', () => {
    const container = { name: 'constructor', image: 'i', resources: exactly('1', '1Gi') };
    const pod = makePod('a', {}, { containers: [container] });
    expect(withResources(pod, { containers: {} })).toBe(pod);
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

  test.each([
    [1, undefined],
    [undefined, -1],
  ])('no priority is 0: %s comes before %s', (higher, lower) => {
    const of = (priority: number | undefined): WaitingResize => {
      const { priority: _, ...spec } = makePod('p', exactly('1', '1Gi')).spec;
      const pod = { ...makePod('p'), spec: { ...spec, ...(priority !== undefined && { priority }) } };
      return waiting('p', { pod });
    };
    expect(compareResizes(of(higher), of(lower))).toBeLessThan(0);
    expect(compareResizes(of(lower), of(higher))).toBeGreaterThan(0);
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

const critical = (pod: Pod): Pod => ({ ...pod, spec: { ...pod.spec, priority: 2_000_000_000 } });

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

  const SWAP = 'In-place resize of containers with swap is not supported.';
  const ofTwo = (...resources: readonly ResourceRequirements[]): Pod =>
    makePod('a', {}, { containers: resources.map((one, at) => ({ name: `c${at}`, image: 'i', resources: one })) });
  const free = { requests: { memory: '1Gi' } };
  const freer = { requests: { memory: '2Gi' } };
  const fixed = { requests: { memory: '1Gi' }, limits: { memory: '1Gi' } };
  const larger = { requests: { memory: '2Gi' }, limits: { memory: '2Gi' } };
  const noMore = { requests: { memory: '1Gi' }, limits: { memory: '2Gi' } };

  test.each<[string, Pod, Pod, string | undefined]>([
    ['memory that is requested without a limit', ofTwo(freer), ofTwo(free), SWAP],
    ['memory of one container of two', ofTwo(free, freer), ofTwo(free, free), SWAP],
    ['memory where none was requested', ofTwo(free, noMore), ofTwo({ requests: { cpu: '1' } }, noMore), SWAP],
    ['memory that may no longer be swapped', ofTwo(larger, free), ofTwo(noMore, free), SWAP],
    ['memory that may be swapped from now on', ofTwo(noMore, free), ofTwo({ ...larger }, free), SWAP],
    ['memory that may not be swapped, beside some that may', ofTwo(larger, free), ofTwo(fixed, free), undefined],
    ['a limit alone', ofTwo(noMore), ofTwo(free), undefined],
    ['CPU alone', ofTwo({ requests: { memory: '1Gi', cpu: '2' } }), ofTwo(free), undefined],
    ['a container that was not there', ofTwo(free, free), ofTwo(free), undefined],
    ['a critical pod, which has no swap', critical(ofTwo(freer)), critical(ofTwo(free)), undefined],
    ['a Guaranteed pod, which has none', ofTwo(exactly('1', '2Gi')), ofTwo(exactly('1', '1Gi')), undefined],
  ])('while containers may swap: %s', (_what, asks, granted, message) => {
    expect(resizeRefusal(asks, granted, { limitedSwap: true })?.message).toBe(message);
  });

  const withInit = (main: string, init: string, more: { readonly restartPolicy?: string } = {}): Pod =>
    makePod(
      'a',
      {},
      {
        containers: ['first', 'last'].map((name) => ({
          name,
          image: 'i',
          resources: exactly(name === 'last' ? main : '1', '1Gi'),
        })),
        initContainers: [{ name: 'init', image: 'i', resources: exactly(init, '1Gi'), ...more }],
      },
    );
  const sidecar = { restartPolicy: 'Always' };

  test('a sidecar that may swap is as bad as a main container that may', () => {
    const of = (memory: string): Pod => {
      const side = { name: 'side', image: 'i', restartPolicy: 'Always', resources: { requests: { memory } } };
      return makePod('a', free, { initContainers: [side] });
    };
    expect(resizeRefusal(of('2Gi'), of('1Gi'), { limitedSwap: true })?.message).toBe(SWAP);
    expect(resizeRefusal(of('1Gi'), of('1Gi'), { limitedSwap: true })).toBeUndefined();
  });

  test.each<[string, Pod, Pod, boolean, string | undefined]>([
    ['one container of two', withInit('2', '1'), withInit('1', '1'), false, CPUS],
    ['an init container', withInit('1', '2'), withInit('1', '1'), true, CPUS],
    ['an init container, which is never resized', withInit('1', '2'), withInit('1', '1'), false, undefined],
    ['nothing of them', withInit('1', '1'), withInit('1', '1'), true, undefined],
    ['a sidecar', withInit('1', '2', sidecar), withInit('1', '1', sidecar), false, CPUS],
  ])('exclusive CPUs: of %s', (_what, asks, granted, initContainers, message) => {
    expect(resizeRefusal(asks, granted, { staticCpus: true, initContainers })?.message).toBe(message);
  });

  test('is counted by upstream’s labels', () => {
    expect(resizeRefusal(swapMore, swapping, { limitedSwap: true })?.detail).toBe('swap_limitation');
    expect(resizeRefusal(wholeMore, whole, { podLevel: false })?.detail).toBe('plr_feature_gate_off');
    expect(resizeRefusal(cpu, pod, { staticCpus: true })?.detail).toBe('guaranteed_pod_cpu_manager_static_policy');
    expect(resizeRefusal(memory, pod, { staticMemory: true })?.detail).toBe(
      'guaranteed_pod_memory_manager_static_policy',
    );
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

  test('what says nothing has no reason and no message, and is not said anew', () => {
    const began = withInProgress({}, { observedGeneration: 2 }, NOON);
    expect(began.conditions.inProgress).toStrictEqual({
      type: 'PodResizeInProgress',
      status: 'True',
      lastProbeTime: NOON,
      lastTransitionTime: NOON,
      observedGeneration: 2,
    });
    const again = withInProgress(began.conditions, { observedGeneration: 2 }, LATER);
    expect(again.conditions.inProgress).toBe(began.conditions.inProgress);
  });

  test('its transition is where its reason changes, and now where nobody knows of one', () => {
    const began = withInProgress({}, { observedGeneration: 2 }, NOON);
    const says = withInProgress(began.conditions, { message: 'soon' }, LATER).conditions.inProgress;
    expect(says).toMatchObject({ message: 'soon', lastTransitionTime: NOON, lastProbeTime: LATER });
    const shown = { pending: { type: 'PodResizePending', status: 'True', reason: 'Deferred' } } as const;
    const { pending } = withPending(shown, { reason: 'Deferred', message: 'full' }, LATER).conditions;
    expect(pending?.lastTransitionTime).toBe(LATER);
  });

  test('of an error only the message may be new; then the reason is what comes with it', () => {
    const failed = withInProgress({}, { reason: 'Error', message: 'no' }, NOON);
    const next = withInProgress(failed.conditions, { reason: 'Error' }, LATER).conditions.inProgress;
    expect(next).not.toHaveProperty('message');
    const other = withInProgress(failed.conditions, { message: 'why' }, LATER).conditions.inProgress;
    expect(other).toMatchObject({ message: 'why' });
    expect(other).not.toHaveProperty('reason');
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

test('what an update asks for is not counted of containers that cannot be resized, or are gone', () => {
  const init = (cpu: string): Pod =>
    makePod('a', {}, { initContainers: [{ name: 'i', image: 'i', resources: { requests: { cpu } } }] });
  const more = [{ resource: 'cpu', requirement: 'requests', operation: 'increase' }];
  expect(resizeOperations(init('1'), init('2'))).toEqual(more);
  expect(resizeOperations(init('1'), init('2'), { initContainers: false })).toEqual([]);
  expect(resizeOperations(init('1'), makePod('a'))).toEqual([]);
});

test('an update of the pod as a whole is one of its resources', () => {
  const whole = (cpu: string): Pod => makePod('a', {}, { resources: exactly(cpu, '1Gi') });
  expect(podLevelChanges(whole('1'), whole('2'))).toBe(true);
  expect(podLevelChanges(whole('1'), whole('1000m'))).toBe(false);
  expect(podLevelChanges(makePod('a'), makePod('a', exactly('1', '1Gi')))).toBe(false);
});

test('the text of an event without an error or a generation, and of a container with claims', () => {
  const pod = makePod('a', { claims: [{ name: 'gpu' }] });
  expect(resizeMessage('Pod resize Deferred', pod, undefined)).toBe(
    'Pod resize Deferred: {"containers":[{"name":"c","resources":{"claims":[{"name":"gpu"}]}}],"generation":0}',
  );
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
  const withInit = makePod('a', exactly('1', '1Gi'), {
    initContainers: [{ name: 'i', image: 'i', resources: exactly('1', '1Gi') }],
  });
  const runningAll = {
    containers: ['c', 'i'].map((name) => ({ name, state: 'running' })),
  } as unknown as RuntimePodStatus;

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

  const got = { c: { limits: exactly('1', '1Gi').limits ?? {} } };
  test.each<[string, Pod, PodResources, ResizeFeatures, boolean]>([
    ['nothing was applied to the pod as a whole', whole, { containers: got }, {}, false],
    ['the pod as a whole has nothing any more', pod, { containers: { c: exactly('1', '1Gi') }, pod: {} }, {}, false],
    [
      'the pod has less, which is no matter without its gate',
      whole,
      { containers: { c: {} }, pod: exactly('1', '512Mi') },
      { podLevel: false },
      false,
    ],
    ['an init container has less', withInit, { containers: { c: exactly('1', '1Gi') } }, {}, true],
    [
      'an init container has less, which is no matter without its gate',
      withInit,
      { containers: { c: exactly('1', '1Gi') } },
      { initContainers: false },
      false,
    ],
  ])('%s', (_what, granted, applied, features, goesOn) => {
    expect(isResizeInProgress(granted, runningAll, applied, features)).toBe(goesOn);
  });
});

// With all of them gone through for each, it would take longer than a test may.
test('K5: it is found in one go what cannot be changed of a pod of a great many containers', () => {
  const containers = Array.from({ length: 30_000 }, (_, index) => ({
    name: `c${index}`,
    image: 'i',
    resources: exactly('1', '1Gi'),
  }));
  const [pod, granted] = [makePod('a', {}, { containers }), makePod('a', {}, { containers })];
  expect(resizeRefusal(pod, granted, { limitedSwap: true, staticCpus: true, staticMemory: true })).toBeUndefined();
});
