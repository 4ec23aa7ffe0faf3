import {
  type ContainerStatus,
  defaultPod,
  type ResourceRequirements,
  type RuntimeContainerStatus,
} from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { containerResourceStatus } from '../src/container-resources.ts';
import { resourcesOf } from '../src/pod-resources.ts';

const MIB = 2 ** 20;
const both = (cpu: string, memory: string): ResourceRequirements => ({
  requests: { cpu, memory },
  limits: { cpu, memory },
});

describe('the resources of a container', () => {
  const shown = (
    resources: ResourceRequirements,
    told: RuntimeContainerStatus['resources'],
    more: { readonly state?: string; readonly old?: Partial<ContainerStatus> } = {},
  ) => {
    const status = { state: more.state ?? 'running', ...(told && { resources: told }) } as RuntimeContainerStatus;
    const old = more.old && ({ containerID: 'x://1', state: { running: {} }, ...more.old } as ContainerStatus);
    return containerResourceStatus({ name: 'c', resources }, status, 'x://1', old).resources;
  };

  test.each<[string, ResourceRequirements, RuntimeContainerStatus['resources'], ResourceRequirements]>([
    [
      'the enforced ones instead of the allocated ones',
      both('2', '2Gi'),
      { cpuRequestMilli: 500, cpuLimitMilli: 1000, memoryLimitBytes: 64 * MIB, memoryRequestBytes: 32 * MIB },
      { requests: { cpu: '500m', memory: '32Mi' }, limits: { cpu: '1', memory: '64Mi' } },
    ],
    [
      'in the notation of the spec if the values are equal',
      both('1000m', '1024Mi'),
      { cpuLimitMilli: 1000, memoryLimitBytes: 1024 * MIB },
      both('1000m', '1024Mi'),
    ],
    [
      'without resources that are neither limited nor requested',
      {},
      { cpuRequestMilli: 2, cpuLimitMilli: 100, memoryLimitBytes: 9 },
      {},
    ],
    [
      'the allocated ones for other resources',
      { requests: { 'example.com/gpu': '1' } },
      { cpuRequestMilli: 2 },
      { requests: { 'example.com/gpu': '1' } },
    ],
    [
      "the allocated request if it is below the kernel's resolution",
      { requests: { cpu: '1m' } },
      { cpuRequestMilli: 2 },
      { requests: { cpu: '1m' } },
    ],
    [
      "the allocated limit if it is below the kernel's resolution",
      { limits: { cpu: '5m' } },
      { cpuLimitMilli: 10 },
      { limits: { cpu: '5m' } },
    ],
    [
      'without a limit if a small one was removed',
      { limits: { cpu: '11m' } },
      { cpuLimitMilli: 10 },
      { limits: { cpu: '10m' } },
    ],
    [
      "the enforced request above the kernel's resolution",
      { requests: { cpu: '1m' } },
      { cpuRequestMilli: 3 },
      { requests: { cpu: '3m' } },
    ],
    [
      'without memory if none is allocated and none enforced',
      { limits: { cpu: '1' } },
      { cpuLimitMilli: 1000, memoryLimitBytes: 0 },
      { limits: { cpu: '1' } },
    ],
    [
      'the enforced ones even if none are allocated',
      { limits: { cpu: '1' } },
      { memoryLimitBytes: 64 * MIB },
      { limits: { cpu: '1', memory: '64Mi' } },
    ],
    [
      'without a limit if one is allocated but not enforced',
      { limits: { memory: '1Gi' } },
      { memoryLimitBytes: 0 },
      { limits: { memory: '0' } },
    ],
  ])('the resources of a container in the status are %s', (_what, allocated, told, expected) => {
    expect(shown(allocated, told)).toEqual(expected);
  });

  test('a container with requests has allocatedResources in its status', () => {
    const status = { state: 'running' } as RuntimeContainerStatus;
    const of = (resources: ResourceRequirements) =>
      containerResourceStatus({ name: 'c', resources }, status, 'x://1', undefined);
    expect(of(both('1', '1Gi'))).toEqual({
      allocatedResources: { cpu: '1', memory: '1Gi' },
      resources: both('1', '1Gi'),
    });
    expect(of({ limits: { cpu: '1' } })).not.toHaveProperty('allocatedResources');
  });

  test('resources that the runtime does not report stay as reported for the same container', () => {
    const old = { resources: both('1', '1Gi') };
    expect(shown(both('2', '2Gi'), undefined, { old })).toEqual(both('1', '1Gi'));
    expect(shown(both('2', '2Gi'), undefined, { old: { ...old, containerID: 'x://0' } })).toEqual(both('2', '2Gi'));
    expect(shown(both('2', '2Gi'), undefined)).toEqual(both('2', '2Gi'));
  });

  test('the status of a container that does not run shows the resources that it will start with', () => {
    expect(shown(both('2', '2Gi'), { cpuLimitMilli: 1 }, { state: 'exited' })).toEqual(both('2', '2Gi'));
  });
});

describe('the resources of a pod', () => {
  const podOf = (phase: 'Running' | 'Pending', resources: ResourceRequirements | undefined) => ({
    ...defaultPod({
      metadata: { name: 'p', namespace: 'default', uid: 'u' },
      spec: { containers: [{ name: 'c', image: 'i', resources: both('1', '64Mi') }], ...(resources && { resources }) },
    }),
    status: { phase },
  });
  const group = { cpuShares: 512, cpuQuotaUs: 50_000, cpuPeriodUs: 100_000, memoryBytes: 32 * MIB };

  test('the status of a pod shows the allocated resources, and the resources of its cgroup once the pod runs', () => {
    expect(resourcesOf(podOf('Running', undefined), group)).toEqual({
      allocatedResources: { cpu: '1', memory: '64Mi' },
      resources: { requests: { cpu: '500m', memory: '64Mi' }, limits: { cpu: '500m', memory: '32Mi' } },
    });
    for (const [phase, limits] of [
      ['Pending', group],
      ['Running', undefined],
    ] as const) {
      expect(resourcesOf(podOf(phase, undefined), limits).resources).toEqual(both('1', '64Mi'));
    }
  });

  const none = { cpuShares: 2, cpuQuotaUs: -1, cpuPeriodUs: 100_000, memoryBytes: -1 };
  const bare = (resources?: ResourceRequirements) => ({
    ...podOf('Running', undefined),
    spec: { containers: [{ name: 'c', image: 'i' }], ...(resources && { resources }) },
  });
  test.each<[string, ResourceRequirements | undefined, Partial<typeof none>, object]>([
    ['the minimum of CPU shares means no request', undefined, {}, {}],
    ['more CPU shares mean a request', undefined, { cpuShares: 10_240 }, { requests: { cpu: '10' } }],
    [
      'the minimum of CPU shares means a small request if one is declared',
      { requests: { cpu: '5m' } },
      {},
      { requests: { cpu: '2m' } },
    ],
    ['a CPU quota means a limit', undefined, { cpuQuotaUs: 25_000 }, { limits: { cpu: '250m' } }],
    ['the minimum quota means no limit', undefined, { cpuQuotaUs: 1000 }, {}],
    ['a quota above the minimum means a limit', undefined, { cpuQuotaUs: 1100 }, { limits: { cpu: '11m' } }],
    [
      'the minimum quota means a limit if one is declared',
      { limits: { cpu: '20m' } },
      { cpuQuotaUs: 1000 },
      { limits: { cpu: '10m' } },
    ],
    [
      'a quota with another period',
      undefined,
      { cpuQuotaUs: 25_000, cpuPeriodUs: 50_000 },
      { limits: { cpu: '500m' } },
    ],
    ['a quota of several CPUs', undefined, { cpuQuotaUs: 500_000 }, { limits: { cpu: '5' } }],
    [
      'one milli-CPU if a small limit is declared',
      { limits: { cpu: '20m' } },
      { cpuQuotaUs: 100 },
      { limits: { cpu: '1m' } },
    ],
    ['no quota', undefined, { cpuQuotaUs: 0 }, {}],
    [
      'no quota although a limit is declared',
      { limits: { cpu: '20m' } },
      { cpuQuotaUs: 0 },
      { limits: { cpu: '20m' } },
    ],
    ['memory', undefined, { memoryBytes: 32 * MIB }, { limits: { memory: '32Mi' } }],
    ['a byte of memory', undefined, { memoryBytes: 1 }, { limits: { memory: '1' } }],
    ['no memory', undefined, { memoryBytes: 0 }, {}],
    [
      'a declared memory request, which the cgroup does not contain',
      { requests: { memory: '8Mi' } },
      {},
      { requests: { memory: '8Mi' } },
    ],
  ])('the resources of a pod, derived from its cgroup: %s: $3', (_what, resources, limits, expected) => {
    expect(resourcesOf(bare(resources), { ...none, ...limits }).resources).toStrictEqual(expected);
  });

  test('a pod-level memory request takes precedence over the requests of the containers', () => {
    const shown = resourcesOf(podOf('Running', { requests: { memory: '1Gi' } }), group).resources;
    expect(shown?.requests?.memory).toBe('1Gi');
  });

  test("an unlimited cgroup adds no limits to the pod status, which then shows only the spec's limits", () => {
    const unlimited = { ...group, cpuQuotaUs: -1, memoryBytes: -1 };
    expect(resourcesOf(podOf('Running', undefined), unlimited).resources).toEqual({
      requests: { cpu: '500m', memory: '64Mi' },
    });
    expect(resourcesOf(podOf('Running', both('2', '1Gi')), unlimited).resources).toEqual({
      requests: { cpu: '500m', memory: '1Gi' },
      limits: { cpu: '2', memory: '1Gi' },
    });
  });
});
