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
      'what the runtime enforces, in the place of what is allocated',
      both('2', '2Gi'),
      { cpuRequestMilli: 500, cpuLimitMilli: 1000, memoryLimitBytes: 64 * MIB, memoryRequestBytes: 32 * MIB },
      { requests: { cpu: '500m', memory: '32Mi' }, limits: { cpu: '1', memory: '64Mi' } },
    ],
    [
      'as the spec writes it, where it is the same',
      both('1000m', '1024Mi'),
      { cpuLimitMilli: 1000, memoryLimitBytes: 1024 * MIB },
      both('1000m', '1024Mi'),
    ],
    [
      'nothing of what is neither limited nor requested',
      {},
      { cpuRequestMilli: 2, cpuLimitMilli: 100, memoryLimitBytes: 9 },
      {},
    ],
    [
      'other resources as they are',
      { requests: { 'example.com/gpu': '1' } },
      { cpuRequestMilli: 2 },
      { requests: { 'example.com/gpu': '1' } },
    ],
    [
      'a request below what the kernel tells apart',
      { requests: { cpu: '1m' } },
      { cpuRequestMilli: 2 },
      { requests: { cpu: '1m' } },
    ],
    [
      'a limit below what the kernel tells apart',
      { limits: { cpu: '5m' } },
      { cpuLimitMilli: 10 },
      { limits: { cpu: '5m' } },
    ],
    [
      'a limit that was that small, and is none any more',
      { limits: { cpu: '11m' } },
      { cpuLimitMilli: 10 },
      { limits: { cpu: '10m' } },
    ],
  ])('%s', (_what, allocated, told, expected) => {
    expect(shown(allocated, told)).toEqual(expected);
  });

  test('what the runtime does not tell stays as it was told, of the same container', () => {
    const old = { resources: both('1', '1Gi') };
    expect(shown(both('2', '2Gi'), undefined, { old })).toEqual(both('1', '1Gi'));
    expect(shown(both('2', '2Gi'), undefined, { old: { ...old, containerID: 'x://0' } })).toEqual(both('2', '2Gi'));
    expect(shown(both('2', '2Gi'), undefined)).toEqual(both('2', '2Gi'));
  });

  test('what does not run has what it will start with', () => {
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

  test('are what its group is held to while it runs, and what is allocated before', () => {
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

  test('no limit is none', () => {
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
