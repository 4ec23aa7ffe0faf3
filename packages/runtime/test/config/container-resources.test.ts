import type { Container, PodSpec } from '@node-agent/pod-spec';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { containerResources } from '../../src/config/container-resources.ts';
import { cgroupPageSize } from '../../src/config/hugepages.ts';
import { oomScoreAdjust } from '../../src/config/oom-score.ts';
import type { ResourceSettings } from '../../src/config/resource-settings.ts';
import { GI, makeContainer, makePod, resourceSettings } from './fixtures.ts';

type Resources = ReturnType<typeof containerResources>;

function resourcesOf(
  resources: NonNullable<Container['resources']>,
  settings: Partial<ResourceSettings> = {},
  spec: Partial<PodSpec> = {},
): Resources {
  const container = makeContainer({ resources });
  const pod = makePod({ containers: [container], ...spec });
  return containerResources(pod, container, 'main', { ...resourceSettings, ...settings });
}

describe("CPU and memory values of a container's cgroup", () => {
  it('the CPU request of a container defaults to its limit', () => {
    expect(resourcesOf({ limits: { cpu: '2' } })).toMatchObject({ cpuShares: 2048, cpuQuota: 200_000 });
    expect(resourcesOf({ requests: { cpu: '0' }, limits: { cpu: '2' } })).toMatchObject({ cpuShares: 2 });
  });

  it('there is no CPU quota if cpuCFSQuota is off', () => {
    expect(resourcesOf({ limits: { cpu: '2' } }, { cpuCfsQuota: false })).not.toHaveProperty('cpuQuota');
  });

  it('the pod-level limits apply to a container without limits', () => {
    const spec = { resources: { limits: { cpu: '3', memory: '1Gi' } } };
    expect(resourcesOf({ limits: { cpu: '0' } }, {}, spec)).toMatchObject({
      cpuQuota: 300_000,
      memoryLimitInBytes: GI,
    });
    expect(resourcesOf({ limits: { memory: '1k' } }, {}, spec)).toMatchObject({ memoryLimitInBytes: 1000 });
  });

  it('an OOM kill ends all processes of a container under cgroup v2, unless singleProcessOOMKill is set', () => {
    expect(resourcesOf({}, { singleProcessOomKill: false }).unified).toEqual({ 'memory.oom.group': '1' });
    expect(resourcesOf({}, { singleProcessOomKill: true }).unified).toEqual({});
    expect(resourcesOf({}, { singleProcessOomKill: false, cgroupVersion: 1 }).unified).toEqual({});
  });
});

describe('oomScoreAdjust', () => {
  const request = (memory: string): Partial<Container> => ({ resources: { requests: { memory } } });
  const guaranteed = { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } };

  it.each([
    ['a BestEffort container', {}, {}, 1000],
    ['a Guaranteed container', { resources: guaranteed }, {}, -997],
    ['a container that requests a quarter of the memory', request('2Gi'), {}, 750],
    ['a container that requests very little memory', request('1'), {}, 999],
    ['a container that requests all of the memory', request('8Gi'), {}, 3],
    ['a container that requests more than the memory', request('80Gi'), {}, 3],
    ['a node-critical pod', {}, { priority: 2_000_001_000, priorityClassName: 'system-node-critical' }, -997],
    [
      'a cluster-critical pod',
      request('2Gi'),
      { priority: 2_000_000_000, priorityClassName: 'system-cluster-critical' },
      750,
    ],
    ['a pod with pod-level requests', request('1Gi'), { resources: { requests: { memory: '3Gi' } } }, 625],
  ])('the oom_score_adj of %s is $3', (_, fields, spec, score) => {
    const container = makeContainer(fields);
    const pod = makePod({ containers: [container], ...spec });
    expect(oomScoreAdjust(pod, container, 'main', 8 * GI)).toBe(score);
  });

  it('the oom_score_adj of a sidecar is at most that of the main container with the smallest request', () => {
    const sidecar = makeContainer({ name: 's', restartPolicy: 'Always', ...request('1Mi') });
    const pod = makePod({
      initContainers: [sidecar],
      containers: [makeContainer(request('4Gi')), makeContainer({ name: 'b', ...request('2Gi') })],
    });
    expect(oomScoreAdjust(pod, sidecar, 'sidecar', 8 * GI)).toBe(750);
    expect(oomScoreAdjust(pod, { ...sidecar, restartPolicy: 'OnFailure' }, 'init', 8 * GI)).toBe(999);
  });

  it('the oom_score_adj of every burstable container is between those of guaranteed and best-effort ones', () => {
    fc.assert(
      fc.property(fc.bigInt(1n, 2n ** 62n), fc.integer({ min: 1, max: 2 ** 50 }), (bytes, capacity) => {
        const container = makeContainer(request(String(bytes)));
        const score = oomScoreAdjust(makePod({ containers: [container] }), container, 'main', capacity);
        expect(score).toBeGreaterThanOrEqual(3);
        expect(score).toBeLessThanOrEqual(999);
      }),
    );
  });
});

describe('huge page limits of a container', () => {
  it('huge pages of every size are limited, to zero if none are requested', () => {
    expect(resourcesOf({ limits: { 'hugepages-2Mi': '100Mi' } }).hugepageLimits).toEqual([
      { pageSize: '2MB', limit: 100 * 2 ** 20 },
      { pageSize: '1GB', limit: 0 },
    ]);
  });

  it("the huge page limit of the container takes precedence over the pod's", () => {
    const spec = { resources: { limits: { 'hugepages-2Mi': '4Mi', 'hugepages-1Gi': '1Gi' } } };
    expect(resourcesOf({ limits: { 'hugepages-2Mi': '2Mi' } }, {}, spec).hugepageLimits).toEqual([
      { pageSize: '2MB', limit: 2 ** 21 },
      { pageSize: '1GB', limit: 2 ** 30 },
    ]);
  });

  it.each([
    [2n ** 21n, '2MB'],
    [2n ** 30n, '1GB'],
    [65536n, '64KB'],
    [1000n, '1000B'],
    [0n, '0B'],
    [1025n, undefined],
  ])("a huge page of %d bytes has the kernel's name %s", (bytes, size) => {
    expect(cgroupPageSize(bytes)).toBe(size);
  });
});

describe('swap limit of a container', () => {
  const burstable = { requests: { memory: '2Gi' }, limits: { memory: '4Gi' } };
  const limited: Partial<ResourceSettings> = { swapControllerAvailable: true, swapBehavior: 'LimitedSwap' };

  it.each([
    ['in proportion to the request', burstable, limited, {}, String(GI)],
    ['none without swapBehavior LimitedSwap', burstable, { ...limited, swapBehavior: 'NoSwap' as const }, {}, '0'],
    ['none for best-effort pods', {}, limited, {}, '0'],
    [
      'none if request and limit are equal',
      { requests: { cpu: '1', memory: '2Gi' }, limits: { memory: '2Gi' } },
      limited,
      {},
      '0',
    ],
    ['none for critical pods', burstable, limited, { priority: 2_000_000_000 }, '0'],
    ["none if the request exceeds the node's memory", { requests: { memory: '9Gi' } }, limited, {}, '0'],
  ])('the swap limit of a container is $4 bytes: %s', (_, resources, settings, spec, limit) => {
    expect(resourcesOf(resources, settings, spec).unified).toEqual({ 'memory.swap.max': limit });
  });

  it('the swap limit equals the memory limit under cgroup v1, and is omitted without a swap controller', () => {
    const v1 = resourcesOf(burstable, { ...limited, cgroupVersion: 1 });
    expect(v1).toMatchObject({ memorySwapLimitInBytes: 4 * GI, unified: {} });
    expect(resourcesOf(burstable, { swapBehavior: 'LimitedSwap' }).unified).toEqual({});
  });
});

describe('memory QoS of a container', () => {
  const memoryQos = { throttlingFactor: 0.9, allocatableMemoryBytes: 4 * GI, pageSizeBytes: 4096 };
  const tiered = { memoryQos: { ...memoryQos, reservationPolicy: 'TieredReservation' } } as const;
  const none = { memoryQos: { ...memoryQos, reservationPolicy: 'None' } } as const;
  const guaranteed = { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } };

  it.each([
    ['a Guaranteed container', guaranteed, tiered, { 'memory.min': String(GI) }],
    [
      'burstable',
      { requests: { memory: '1Gi' }, limits: { memory: '2Gi' } },
      tiered,
      { 'memory.low': String(GI), 'memory.high': '2040107008' },
    ],
    [
      'no reservation',
      { requests: { memory: '1Gi' }, limits: { memory: '2Gi' } },
      none,
      { 'memory.min': '0', 'memory.low': '0', 'memory.high': '2040107008' },
    ],
    [
      "without a limit, the node's memory counts as the limit",
      { requests: { memory: '1Gi' } },
      tiered,
      { 'memory.low': String(GI), 'memory.high': '3972841472' },
    ],
    ['a BestEffort container', {}, tiered, { 'memory.min': '0', 'memory.low': '0' }],
  ])('memory QoS files of a container (%s): $3', (_, resources, settings, unified) => {
    expect(resourcesOf(resources, settings).unified).toEqual(unified);
    expect(resourcesOf(resources, { ...settings, cgroupVersion: 1 }).unified).toEqual({});
  });
});
