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

describe('withResources and resourcesOf', () => {
  test('withResources replaces the requested resources with the allocated resources and changes nothing else in the pod', () => {
    const pod = makePod('a', exactly('1', '1Gi'));
    const before = resourcesOf(pod);
    expect(withResources(pod, before)).toBe(pod);
    const larger = asking(pod, exactly('2', '1Gi'));
    const allocated = withResources(larger, before);
    expect(allocated.spec).toEqual(pod.spec);
    expect(allocated.metadata).toBe(larger.metadata);
    // The quantities are equal, although their notation differs.
    const same = asking(pod, exactly('1000m', '1024Mi'));
    expect(withResources(same, before)).toBe(same);
  });

  test('resourcesOf includes init containers and pod-level resources if their feature gates are on', () => {
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

  test('withResources replaces the resources of one container or init container among several', () => {
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

  test('withResources removes the pod-level resources if none were allocated', () => {
    const pod = makePod('a', exactly('1', '1Gi'));
    const asks: Pod = { ...pod, spec: { ...pod.spec, resources: exactly('2', '2Gi') } };
    expect(withResources(asks, resourcesOf(pod)).spec).not.toHaveProperty('resources');
  });

  test('withResources ignores allocated names that are inherited properties, such as "constructor"', () => {
    const container = { name: 'constructor', image: 'i', resources: exactly('1', '1Gi') };
    const pod = makePod('a', {}, { containers: [container] });
    expect(withResources(pod, { containers: {} })).toBe(pod);
  });

  test('asksForMore is true if CPU or memory increases', () => {
    const pod = makePod('a', exactly('1', '1Gi'));
    expect(asksForMore(pod, pod)).toBe(false);
    expect(asksForMore(asking(pod, exactly('500m', '2Gi')), pod)).toBe(true);
    expect(asksForMore(asking(pod, exactly('500m', '1Gi')), pod)).toBe(false);
    expect(asksForMore(asking(pod, exactly('1', '1Gi')), makePod('a'))).toBe(true);
  });
});

describe('compareResizes', () => {
  const waiting = (name: string, more: Partial<WaitingResize> & { priority?: number } = {}): WaitingResize => ({
    pod: makePod(name, more.pod ? {} : exactly('1', '1Gi'), { priority: more.priority ?? 0 }),
    increases: true,
    pendingSinceMs: 1,
    ...more,
  });
  const burstable = makePod('burstable', { requests: { cpu: '1' } });

  test.each([
    [
      'a resize that increases nothing',
      waiting('a', { increases: false, priority: -5 }),
      waiting('b', { priority: 9 }),
    ],
    [
      'the resize of a pod with a higher priority',
      waiting('a', { priority: 5, pod: { ...burstable, spec: { ...burstable.spec, priority: 5 } } }),
      waiting('b', { priority: 4 }),
    ],
    [
      'the resize of a Guaranteed pod',
      waiting('a', { pendingSinceMs: 9 }),
      waiting('b', { pod: burstable, pendingSinceMs: 1 }),
    ],
    ['the resize that has waited longer', waiting('a', { pendingSinceMs: 1 }), waiting('b', { pendingSinceMs: 2 })],
    [
      'a resize that was deferred before, ahead of a new resize',
      waiting('a', { pendingSinceMs: 9 }),
      waiting('b', { pendingSinceMs: undefined }),
    ],
  ])('compareResizes sorts first: %s', (_what, first, second) => {
    expect(compareResizes(first, second)).toBeLessThan(0);
    expect(compareResizes(second, first)).toBeGreaterThan(0);
  });

  test.each([
    [1, undefined],
    [undefined, -1],
  ])('compareResizes treats an undefined priority as 0: priority %s comes before %s', (higher, lower) => {
    const of = (priority: number | undefined): WaitingResize => {
      const { priority: _, ...spec } = makePod('p', exactly('1', '1Gi')).spec;
      const pod = { ...makePod('p'), spec: { ...spec, ...(priority !== undefined && { priority }) } };
      return waiting('p', { pod });
    };
    expect(compareResizes(of(higher), of(lower))).toBeLessThan(0);
    expect(compareResizes(of(lower), of(higher))).toBeGreaterThan(0);
  });

  test('compareResizes is a consistent total order', () => {
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

describe('resizeRefusal', () => {
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
    ['no restriction', cpu, pod, {}, undefined],
    ['exclusive CPUs', cpu, pod, { staticCpus: true }, CPUS],
    [
      'exclusive CPUs and the gate that allows their resize',
      cpu,
      pod,
      { staticCpus: true, exclusiveCpus: true },
      undefined,
    ],
    ['exclusive CPUs, while only memory changes', memory, pod, { staticCpus: true }, undefined],
    ['exclusive memory', memory, pod, { staticMemory: true }, MEMORY],
    [
      'exclusive memory and the gate that allows its resize',
      memory,
      pod,
      { staticMemory: true, exclusiveMemory: true },
      undefined,
    ],
    [
      'exclusive CPUs and memory, while a Burstable pod changes',
      swapMore,
      swapping,
      { staticCpus: true, staticMemory: true },
      undefined,
    ],
    ['swap', swapMore, swapping, { limitedSwap: true }, 'In-place resize of containers with swap is not supported.'],
    ['swap, while a Guaranteed pod changes, which never swaps', memory, pod, { limitedSwap: true }, undefined],
    ['pod-level resources', wholeMore, whole, {}, undefined],
    [
      'pod-level resources whose resize gate is off',
      ...([wholeMore, whole, { podLevel: false }, 'InPlacePodLevelResourcesVerticalScaling is disabled'] as const),
    ],
  ])('resizeRefusal for a node or pod with %s returns: $4', (_what, asks, allocated, node, message) => {
    expect(resizeRefusal(asks, allocated, node)?.message).toBe(message);
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
    ['a memory request without a limit', ofTwo(freer), ofTwo(free), SWAP],
    ['memory of one container of two', ofTwo(free, freer), ofTwo(free, free), SWAP],
    ['a memory request that is new', ofTwo(free, noMore), ofTwo({ requests: { cpu: '1' } }, noMore), SWAP],
    ['memory that may no longer swap', ofTwo(larger, free), ofTwo(noMore, free), SWAP],
    ['memory that may swap after the resize', ofTwo(noMore, free), ofTwo({ ...larger }, free), SWAP],
    ['memory that may not swap, beside a container that may', ofTwo(larger, free), ofTwo(fixed, free), undefined],
    ['only a limit', ofTwo(noMore), ofTwo(free), undefined],
    ['only CPU', ofTwo({ requests: { memory: '1Gi', cpu: '2' } }), ofTwo(free), undefined],
    ['the number of containers', ofTwo(free, free), ofTwo(free), undefined],
    ['the memory of a critical pod, which never swaps', critical(ofTwo(freer)), critical(ofTwo(free)), undefined],
    [
      'the memory of a Guaranteed pod, which never swaps',
      ofTwo(exactly('1', '2Gi')),
      ofTwo(exactly('1', '1Gi')),
      undefined,
    ],
  ])('resizeRefusal with limited swap, for a change of %s, returns: $3', (_what, asks, allocated, message) => {
    expect(resizeRefusal(asks, allocated, { limitedSwap: true })?.message).toBe(message);
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

  test('resizeRefusal with limited swap rejects a memory change of a sidecar without a memory limit', () => {
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
    ['an init container whose resize is not supported', withInit('1', '2'), withInit('1', '1'), false, undefined],
    ['no container', withInit('1', '1'), withInit('1', '1'), true, undefined],
    ['a sidecar', withInit('1', '2', sidecar), withInit('1', '1', sidecar), false, CPUS],
  ])(
    'resizeRefusal with the static CPU policy, for a CPU change of %s, returns: $4',
    (_what, asks, allocated, initContainers, message) => {
      expect(resizeRefusal(asks, allocated, { staticCpus: true, initContainers })?.message).toBe(message);
    },
  );

  test("resizeRefusal returns upstream's metric label as the detail", () => {
    expect(resizeRefusal(swapMore, swapping, { limitedSwap: true })?.detail).toBe('swap_limitation');
    expect(resizeRefusal(wholeMore, whole, { podLevel: false })?.detail).toBe('plr_feature_gate_off');
    expect(resizeRefusal(cpu, pod, { staticCpus: true })?.detail).toBe('guaranteed_pod_cpu_manager_static_policy');
    expect(resizeRefusal(memory, pod, { staticMemory: true })?.detail).toBe(
      'guaranteed_pod_memory_manager_static_policy',
    );
  });

  test('resizeRefusal allows a memory resize despite swap if the resize restarts the container', () => {
    const [container] = swapping.spec.containers;
    const resizePolicy = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }];
    const before = makePod('a', {}, { containers: [{ ...(container as object), resizePolicy } as never] });
    const after = asking(before, { requests: { memory: '1536Mi' }, limits: { memory: '2Gi' } });
    expect(resizeRefusal(after, before, { limitedSwap: true })).toBeUndefined();
  });
});

describe('resize conditions', () => {
  const [NOON, LATER] = ['2026-01-01T12:00:00Z', '2026-01-01T13:00:00Z'];

  test('withPending keeps the transition time while the reason is unchanged and reports a change for a new generation', () => {
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

  test('withInProgress keeps the error and its generation until the resize ends', () => {
    const began = withInProgress({}, { observedGeneration: 2 }, NOON);
    const failed = withInProgress(began.conditions, { reason: 'Error', message: 'no', observedGeneration: 3 }, LATER);
    expect(failed.told).toBe(true);
    expect(failed.conditions.inProgress).toMatchObject({ reason: 'Error', message: 'no', observedGeneration: 2 });
    const again = withInProgress(failed.conditions, { observedGeneration: 3 }, LATER);
    expect(again.told).toBe(false);
    expect(again.conditions.inProgress).toBe(failed.conditions.inProgress);
  });

  test('withInProgress without reason and message sets neither field and reports no change when repeated', () => {
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

  test('the transition time of a condition changes with the reason and is the current time if the old condition has none', () => {
    const began = withInProgress({}, { observedGeneration: 2 }, NOON);
    const says = withInProgress(began.conditions, { message: 'soon' }, LATER).conditions.inProgress;
    expect(says).toMatchObject({ message: 'soon', lastTransitionTime: NOON, lastProbeTime: LATER });
    const shown = { pending: { type: 'PodResizePending', status: 'True', reason: 'Deferred' } } as const;
    const { pending } = withPending(shown, { reason: 'Deferred', message: 'full' }, LATER).conditions;
    expect(pending?.lastTransitionTime).toBe(LATER);
  });

  test('withInProgress after an error takes the reason and message of the update, each absent if the update omits it', () => {
    const failed = withInProgress({}, { reason: 'Error', message: 'no' }, NOON);
    const next = withInProgress(failed.conditions, { reason: 'Error' }, LATER).conditions.inProgress;
    expect(next).not.toHaveProperty('message');
    const other = withInProgress(failed.conditions, { message: 'why' }, LATER).conditions.inProgress;
    expect(other).toMatchObject({ message: 'why' });
    expect(other).not.toHaveProperty('reason');
  });

  test('conditionsOf reads the resize conditions of the API status and ignores other conditions', () => {
    const shown = (type: string): PodCondition => ({ type, status: 'True' });
    const all = ['Ready', 'PodResizeInProgress', 'PodResizePending'].map(shown);
    expect(conditionList(conditionsOf(all)).map(({ type }) => type)).toEqual([
      'PodResizePending',
      'PodResizeInProgress',
    ]);
    expect(conditionsOf(undefined)).toEqual({});
  });
});

test('resizeOperations lists each added, removed, increased and decreased resource', () => {
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

test('resizeOperations omits containers that were removed or cannot be resized', () => {
  const init = (cpu: string): Pod =>
    makePod('a', {}, { initContainers: [{ name: 'i', image: 'i', resources: { requests: { cpu } } }] });
  const more = [{ resource: 'cpu', requirement: 'requests', operation: 'increase' }];
  expect(resizeOperations(init('1'), init('2'))).toEqual(more);
  expect(resizeOperations(init('1'), init('2'), { initContainers: false })).toEqual([]);
  expect(resizeOperations(init('1'), makePod('a'))).toEqual([]);
});

test('podLevelChanges is true only if the pod-level resources change', () => {
  const whole = (cpu: string): Pod => makePod('a', {}, { resources: exactly(cpu, '1Gi') });
  expect(podLevelChanges(whole('1'), whole('2'))).toBe(true);
  expect(podLevelChanges(whole('1'), whole('1000m'))).toBe(false);
  expect(podLevelChanges(makePod('a'), makePod('a', exactly('1', '1Gi')))).toBe(false);
});

test('resizeMessage without an error or a generation writes generation 0 and includes resource claims', () => {
  const pod = makePod('a', { claims: [{ name: 'gpu' }] });
  expect(resizeMessage('Pod resize Deferred', pod, undefined)).toBe(
    'Pod resize Deferred: {"containers":[{"name":"c","resources":{"claims":[{"name":"gpu"}]}}],"generation":0}',
  );
});

test("resizeMessage writes all resources of the pod as upstream's JSON", () => {
  const pod = makePod('a', exactly('1', '1Gi'), {
    initContainers: [{ name: 'i', image: 'i' }],
  });
  expect(resizeMessage('Pod resize Deferred', pod, 3, 'a < b')).toBe(
    'Pod resize Deferred: {"initContainers":[{"name":"i","resources":{}}],"containers":[{"name":"c","resources":' +
      '{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"1","memory":"1Gi"}}}],"generation":3,"error":"a \\u003c b"}',
  );
});

describe('isResizeInProgress', () => {
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
    [
      'the allocated resources are applied',
      pod,
      status('running'),
      { containers: { c: exactly('1000m', '1Gi') } },
      false,
    ],
    [
      'fewer resources than allocated are applied',
      pod,
      status('running'),
      { containers: { c: exactly('500m', '1Gi') } },
      true,
    ],
    ['the applied resources are unknown', pod, status('running'), undefined, true],
    ['the container is not running', pod, status('exited'), { containers: { c: exactly('500m', '1Gi') } }, false],
    [
      'the applied CPU limit of the container is the pod-level limit',
      whole,
      status('running'),
      { containers: { c: { limits: exactly('1', '1Gi').limits ?? {} } }, pod: exactly('1', '1Gi') },
      false,
    ],
    [
      'the pod-level resources are not yet applied',
      whole,
      status('exited'),
      { containers: {}, pod: exactly('1', '512Mi') },
      true,
    ],
  ])(
    'isResizeInProgress returns $4 for a pod with one container if %s',
    (_what, allocated, runtime, applied, goesOn) => {
      expect(isResizeInProgress(allocated, runtime, applied)).toBe(goesOn);
    },
  );

  const got = { c: { limits: exactly('1', '1Gi').limits ?? {} } };
  test.each<[string, Pod, PodResources, ResizeFeatures, boolean]>([
    ['no pod-level resources were ever applied', whole, { containers: got }, {}, false],
    ['the pod no longer has pod-level resources', pod, { containers: { c: exactly('1', '1Gi') }, pod: {} }, {}, false],
    [
      'the pod-level resources are not applied and their gate is off',
      whole,
      { containers: { c: {} }, pod: exactly('1', '512Mi') },
      { podLevel: false },
      false,
    ],
    [
      'the resources of an init container are not applied',
      withInit,
      { containers: { c: exactly('1', '1Gi') } },
      {},
      true,
    ],
    [
      'the resources of an init container are not applied and the gate is off',
      withInit,
      { containers: { c: exactly('1', '1Gi') } },
      { initContainers: false },
      false,
    ],
  ])('isResizeInProgress returns $4 if %s', (_what, allocated, applied, features, goesOn) => {
    expect(isResizeInProgress(allocated, runningAll, applied, features)).toBe(goesOn);
  });
});

// A search through all containers for each container would exceed the time limit of a test.
test('K5: resizeRefusal checks a pod of 30,000 containers in linear time', () => {
  const containers = Array.from({ length: 30_000 }, (_, index) => ({
    name: `c${index}`,
    image: 'i',
    resources: exactly('1', '1Gi'),
  }));
  const [pod, allocated] = [makePod('a', {}, { containers }), makePod('a', {}, { containers })];
  expect(resizeRefusal(pod, allocated, { limitedSwap: true, staticCpus: true, staticMemory: true })).toBeUndefined();
});
