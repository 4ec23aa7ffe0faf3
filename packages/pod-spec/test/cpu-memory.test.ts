import { describe, expect, test } from 'vitest';
import { cpuMemory, isResizable, limitsWithin, sameCpuMemory, sameResources } from '../src/index.ts';

const NONE = { cpuRequestMilli: 0, cpuLimitMilli: 0, memoryRequestBytes: 0, memoryLimitBytes: 0 };

describe('CPU and memory of a container', () => {
  test.each([
    ['zero without resources', undefined, undefined, NONE],
    [
      'its own requests and limits',
      { requests: { cpu: '1.5', memory: '1Ki' }, limits: { cpu: '2', memory: '2Ki' } },
      undefined,
      {
        ...{ cpuRequestMilli: 1500, cpuLimitMilli: 2000, memoryRequestBytes: 1024, memoryLimitBytes: 2048 },
      },
    ],
    [
      "the pod's limits if the container has none",
      { limits: { cpu: '0', memory: '1Ki' } },
      { limits: { cpu: '2', memory: '9Ki' } },
      {
        ...NONE,
        ...{ cpuLimitMilli: 2000, memoryLimitBytes: 1024 },
      },
    ],
    ['a small request is rounded up', { requests: { cpu: '1u' } }, undefined, { ...NONE, cpuRequestMilli: 1 }],
  ])('cpuMemory returns the CPU and memory of a container: %s', (_what, own, pod, expected) => {
    const [mine, its] = [structuredClone(own), structuredClone(pod)];
    expect(cpuMemory(mine, its)).toEqual(expected);
    // The second call returns the cached result.
    expect(cpuMemory(mine, its)).toEqual(expected);
    expect(sameCpuMemory(cpuMemory(mine, its), { ...expected })).toBe(true);
  });

  test.each([
    ['cpuRequestMilli', { requests: { cpu: '2' } }],
    ['cpuLimitMilli', { limits: { cpu: '2' } }],
    ['memoryRequestBytes', { requests: { memory: '2' } }],
    ['memoryLimitBytes', { limits: { memory: '2' } }],
  ])('sameCpuMemory finds CPU and memory unequal if only %s differs', (name, resources) => {
    const figures = cpuMemory(structuredClone(resources));
    expect(Object.entries(figures).flatMap(([key, value]) => (value === 0 ? [] : [key]))).toEqual([name]);
    expect([sameCpuMemory(figures, NONE), sameCpuMemory(NONE, figures)]).toEqual([false, false]);
  });

  test('the pod-level limits apply to a container without resources, and the pod-level requests do not', () => {
    const pod = { limits: { cpu: '2', memory: '3' }, requests: { cpu: '1', memory: '1' } };
    expect(cpuMemory(undefined, pod)).toEqual({ ...NONE, cpuLimitMilli: 2000, memoryLimitBytes: 3 });
  });

  test.each([
    [undefined, undefined, {}],
    [{ limits: { cpu: '1', memory: '2' } }, { limits: { cpu: '5', memory: '5' } }, { cpu: '1', memory: '2' }],
    [{ limits: { cpu: '0' } }, { limits: { cpu: '0' } }, { cpu: '0' }],
    [{}, { limits: { memory: '0' } }, {}],
    [{}, {}, {}],
  ])('a container with the resources %j in a pod with the resources %j has the limits %j', (own, pod, limits) => {
    expect(limitsWithin(own, pod)).toEqual(limits);
  });

  test('cpuMemory of the same container depends on the limits of the pod', () => {
    const own = { requests: { cpu: '1' } };
    expect(cpuMemory(own, { limits: { cpu: '1' } }).cpuLimitMilli).toBe(1000);
    expect(cpuMemory(own, { limits: { cpu: '2' } }).cpuLimitMilli).toBe(2000);
    expect(cpuMemory(own).cpuLimitMilli).toBe(0);
  });

  test('pod-level limits of other resources do not apply to containers', () => {
    expect(
      limitsWithin({ limits: { 'example.com/gpu': '1' } }, { limits: { cpu: '1', 'hugepages-2Mi': '4Mi' } }),
    ).toEqual({
      'example.com/gpu': '1',
      cpu: '1',
    });
  });
});

test.each([
  [undefined, undefined, true],
  [undefined, {}, true],
  [{ requests: {} }, {}, true],
  [{ requests: { cpu: '1' } }, { requests: { cpu: '1000m' } }, true],
  [{ requests: { cpu: '1' } }, { requests: { cpu: '1001m' } }, false],
  [{ requests: { cpu: '1' } }, { limits: { cpu: '1' } }, false],
  [{ requests: { cpu: '1' } }, { requests: { cpu: '1', memory: '1' } }, false],
  [{ claims: [{ name: 'a' }] }, {}, false],
  [{ claims: [] }, {}, true],
  [{ limits: { cpu: '1' } }, { limits: { cpu: '2' } }, false],
  [{ requests: { cpu: '1' } }, { requests: { memory: '1' } }, false],
  [{ requests: { cpu: '1', memory: '1' } }, { requests: { cpu: '1', memory: '2' } }, false],
])('the resources %j and the resources %j are equal: %s', (one, other, same) => {
  expect(sameResources(one, other)).toBe(same);
  expect(sameResources(other, one)).toBe(same);
});

test('main containers, sidecars and init containers can be resized, ephemeral containers cannot', () => {
  expect((['main', 'sidecar', 'init', 'ephemeral'] as const).map((type) => isResizable(type))).toEqual([
    true,
    true,
    true,
    false,
  ]);
  expect(isResizable('init', { initContainers: false })).toBe(false);
  expect(isResizable('sidecar', { initContainers: false })).toBe(true);
});
