import type { Container, PodSpec, ResourceRequirements } from '@node-agent/pod-spec';
import { describe, expect, it } from 'vitest';
import { containerResources, sandboxResources } from '../../src/config/container-resources.ts';
import { oomScoreAdjust } from '../../src/config/oom-score.ts';
import type { ResourceSettings } from '../../src/config/resource-settings.ts';
import { swapLimitBytes } from '../../src/config/swap.ts';
import { GI, makeContainer, makePod, resourceSettings } from './fixtures.ts';

const MI = 2 ** 20;
const cpu = (request: string, limit: string): ResourceRequirements => ({
  requests: { cpu: request },
  limits: { cpu: limit },
});
const memory = (request: string, limit?: string): ResourceRequirements => ({
  requests: { memory: request },
  ...(limit !== undefined && { limits: { memory: limit } }),
});

/** The cases of `pkg/kubelet/kuberuntime/kuberuntime_container_linux_test.go`, `kuberuntime_sandbox_linux_test.go` and `pkg/kubelet/qos/policy_test.go`. */
describe('values computed by the Go kubelet', () => {
  it.each<[string, ResourceRequirements, ResourceRequirements | undefined, object]>([
    [
      'request 128Mi/1, limit 256Mi/3',
      { requests: { memory: '128Mi', cpu: '1' }, limits: { memory: '256Mi', cpu: '3' } },
      undefined,
      { cpuPeriod: 100_000, cpuQuota: 300_000, cpuShares: 1024, memoryLimitInBytes: 256 * MI },
    ],
    [
      'request 128Mi/2, no limit',
      { requests: { memory: '128Mi', cpu: '2' } },
      undefined,
      { cpuPeriod: 100_000, cpuQuota: 0, cpuShares: 2048, memoryLimitInBytes: 0 },
    ],
    [
      'request 128Mi/1 of the container, limit 256Mi/3 of the pod',
      { requests: { memory: '128Mi', cpu: '1' } },
      { limits: { memory: '256Mi', cpu: '3' } },
      { cpuPeriod: 100_000, cpuQuota: 300_000, cpuShares: 1024, memoryLimitInBytes: 256 * MI },
    ],
    ['one CPU', cpu('1', '1'), undefined, { cpuPeriod: 100_000, cpuQuota: 100_000, cpuShares: 1024 }],
    [
      'request and limit of half a CPU in a pod with two CPUs',
      cpu('500m', '500m'),
      cpu('2', '2'),
      { cpuQuota: 50_000, cpuShares: 512 },
    ],
    [
      'request of one CPU in a pod with a limit of two CPUs',
      cpu('1', '2'),
      cpu('2', '2'),
      { cpuQuota: 200_000, cpuShares: 1024 },
    ],
    ['no own request and limit in a pod with two CPUs', {}, cpu('2', '2'), { cpuQuota: 200_000, cpuShares: 2048 }],
  ])('container resources equal those of the Go kubelet: %s', (_title, resources, podResources, expected) => {
    const container = makeContainer({ resources });
    const pod = makePod({ containers: [container], ...(podResources && { resources: podResources }) });
    expect(containerResources(pod, container, 'main', resourceSettings)).toMatchObject(expected);
  });

  const oneKillsAll = { 'memory.oom.group': '1' };
  const singleProcess = { singleProcessOomKill: true };

  it.each<[string, string | undefined, string, string, Partial<ResourceSettings>, object]>([
    ['both', '1', '2', '128Mi', { cgroupVersion: 1 }, { cpuQuota: 200_000, cpuShares: 1024, memory: 128 * MI }],
    ['no memory', '2', '8', '0', { cgroupVersion: 1 }, { cpuQuota: 800_000, cpuShares: 2048, memory: 0 }],
    ['no CPU request', undefined, '2', '0', { cgroupVersion: 1 }, { cpuQuota: 200_000, cpuShares: 2048, memory: 0 }],
    ['a CPU request of zero', '0', '2', '0', { cgroupVersion: 1 }, { cpuQuota: 200_000, cpuShares: 2, memory: 0 }],
    ['both', '1', '2', '128Mi', {}, { cpuQuota: 200_000, cpuShares: 1024, memory: 128 * MI, unified: oneKillsAll }],
    [
      'both, and an OOM kill of a single process',
      '1',
      '2',
      '128Mi',
      singleProcess,
      { cpuQuota: 200_000, cpuShares: 1024, memory: 128 * MI },
    ],
    [
      'no CPU request',
      undefined,
      '2',
      '0',
      {},
      { cpuQuota: 200_000, cpuShares: 2048, memory: 0, unified: oneKillsAll },
    ],
  ])(
    'CPU quota, CPU shares and memory limit of a container equal those of the Go kubelet: %s',
    (_title, request, limit, memoryLimit, settings, expected) => {
      const requests = request === undefined ? {} : { cpu: request };
      const container = makeContainer({ resources: { requests, limits: { cpu: limit, memory: memoryLimit } } });
      const pod = makePod({ containers: [container] });
      const all: ResourceSettings = { ...resourceSettings, singleProcessOomKill: false, ...settings };
      const { cpuQuota, cpuShares, memoryLimitInBytes, unified } = containerResources(pod, container, 'main', all);
      expect({ cpuQuota, cpuShares, memory: memoryLimitInBytes, unified }).toEqual({ unified: {}, ...expected });
    },
  );

  it.each<[string, ResourceRequirements, object]>([
    [
      'guaranteed',
      { requests: { cpu: '250m', memory: '500Mi' }, limits: { cpu: '250m', memory: '500Mi' } },
      { cpuShares: 256, memoryLimitInBytes: 524_288_000, oomScoreAdj: -997 },
    ],
    [
      'burstable',
      { requests: { cpu: '250m', memory: '500Mi' }, limits: { cpu: '500m', memory: '750Mi' } },
      { cpuShares: 256, memoryLimitInBytes: 786_432_000, oomScoreAdj: 970 },
    ],
    ['best effort', {}, { cpuShares: 2, oomScoreAdj: 1000 }],
  ])('resources by QoS class equal those of the Go kubelet: %s', (_title, resources, expected) => {
    const container = makeContainer({ resources });
    const pod = makePod({ containers: [container] });
    for (const cgroupVersion of [1, 2] as const) {
      const settings = { ...resourceSettings, cgroupVersion, memoryCapacityBytes: 17_179_860_387 };
      expect(containerResources(pod, container, 'main', settings)).toMatchObject(expected);
    }
  });

  it.each<[string, Record<string, string>, Record<string, string>, number, number]>([
    ['2 MiB', { 'hugepages-2Mi': '2Mi' }, {}, 2 ** 21, 0],
    ['1 GiB', { 'hugepages-1Gi': '2Gi' }, {}, 0, 2 ** 31],
    ['both', { 'hugepages-2Mi': '2Mi', 'hugepages-1Gi': '2Gi' }, {}, 2 ** 21, 2 ** 31],
    ['a page size that cannot be parsed', { 'hugepages-2MB': '2Mi', 'hugepages-1Gi': '2Gi' }, {}, 0, 2 ** 31],
    ['2 MiB of the pod', {}, { 'hugepages-2Mi': '2Mi' }, 2 ** 21, 0],
    ['both of the pod', {}, { 'hugepages-2Mi': '2Mi', 'hugepages-1Gi': '2Gi' }, 2 ** 21, 2 ** 31],
    [
      'limits of the container, which take precedence over those of the pod',
      { 'hugepages-2Mi': '2Mi', 'hugepages-1Gi': '2Gi' },
      { 'hugepages-2Mi': '4Mi', 'hugepages-1Gi': '4Gi' },
      2 ** 21,
      2 ** 31,
    ],
  ])('huge page limits equal those of the Go kubelet: %s', (_title, limits, podLimits, twoMebibytes, oneGibibyte) => {
    const container = makeContainer({ resources: { limits } });
    const pod = makePod({ containers: [container], resources: { limits: podLimits } });
    expect(containerResources(pod, container, 'main', resourceSettings).hugepageLimits).toEqual([
      { pageSize: '2MB', limit: twoMebibytes },
      { pageSize: '1GB', limit: oneGibibyte },
    ]);
  });

  const limited: Partial<ResourceSettings> = { swapBehavior: 'LimitedSwap', swapControllerAvailable: true };
  const swapping = { memoryCapacityBytes: 40 * GI, swapCapacityBytes: 5 * GI };

  it.each<[string, Partial<ResourceSettings>, string | undefined, ResourceRequirements, number]>([
    ['NoSwap', { ...limited, swapBehavior: 'NoSwap' }, undefined, memory('1Gi', '2Gi'), 0],
    ['cgroup v1', { ...limited, cgroupVersion: 1 }, undefined, memory('1Gi', '2Gi'), 0],
    ['best effort', limited, 'BestEffort', memory('1Gi', '2Gi'), 0],
    ['guaranteed', limited, 'Guaranteed', memory('1Gi', '2Gi'), 0],
    ['no memory request', limited, 'Burstable', memory('0', '0'), 0],
    ['equal request and limit', limited, 'Burstable', memory('100Mi', '100Mi'), 0],
    ['LimitedSwap', limited, 'Burstable', memory('1Gi', '2Gi'), GI / 8],
    ['LimitedSwap without a limit', limited, 'Burstable', memory('2Gi'), GI / 4],
    ['LimitedSwap without a request', limited, 'Burstable', {}, 0],
  ])('swap limits equal those of the Go kubelet: %s', (_title, settings, qosClass, resources, bytes) => {
    const container = makeContainer({ resources });
    const pod = { ...makePod({ containers: [container] }), ...(qosClass !== undefined && { status: { qosClass } }) };
    expect(swapLimitBytes(pod, container, { ...resourceSettings, ...swapping, ...settings })).toBe(bytes);
    const none = { ...resourceSettings, ...swapping, ...settings, swapControllerAvailable: false };
    const { unified, memorySwapLimitInBytes } = containerResources(pod, container, 'main', none);
    expect({ unified, memorySwapLimitInBytes }).toEqual({ unified: {}, memorySwapLimitInBytes: undefined });
  });

  it.each<[string, Partial<PodSpec>, object, object]>([
    [
      'with overhead',
      {
        overhead: { memory: '128Mi', cpu: '1' },
        containers: [
          makeContainer({
            resources: { requests: { memory: '128Mi', cpu: '2' }, limits: { memory: '256Mi', cpu: '4' } },
          }),
        ],
      },
      { memoryLimitInBytes: 256 * MI, cpuPeriod: 100_000, cpuQuota: 400_000, cpuShares: 2048 },
      { memoryLimitInBytes: 128 * MI, cpuPeriod: 100_000, cpuQuota: 100_000, cpuShares: 1024 },
    ],
    [
      'without overhead',
      { containers: [makeContainer({ resources: memory('128Mi', '256Mi') })] },
      { memoryLimitInBytes: 256 * MI, cpuPeriod: 100_000, cpuQuota: 0, cpuShares: 2 },
      {},
    ],
  ])('sandbox resources equal those of the Go kubelet: %s', (_title, spec, resources, overhead) => {
    for (const [cgroupVersion, unified] of [
      [1, {}],
      [2, oneKillsAll],
    ] as const) {
      const settings: ResourceSettings = { ...resourceSettings, cgroupVersion, singleProcessOomKill: false };
      const hasOverhead = Object.keys(overhead).length > 0;
      expect(sandboxResources(makePod(spec), settings)).toEqual({
        resources: { ...resources, unified },
        overhead: hasOverhead ? { ...overhead, unified } : {},
      });
    }
  });
});

describe('oom_score_adj computed by the Go kubelet', () => {
  const G8 = 8_000_000_000;
  const G4 = 4_000_000_000;
  const [eighth, quarter] = ['1000000000', '2000000000'];
  const [eighthLimit, quarterLimit] = ['1000001000', '2000001000'];
  const main = (name: string, resources: ResourceRequirements = {}): Container => makeContainer({ name, resources });
  const sidecar = (name: string, resources: ResourceRequirements = {}): Container =>
    makeContainer({ name, resources, restartPolicy: 'Always' });
  const usual = memory(eighth, eighthLimit);
  const exact = { requests: { cpu: '5m', memory: eighth }, limits: { cpu: '5m', memory: eighth } };
  const loose = { requests: { cpu: '3m', memory: eighth }, limits: { cpu: '5m', memory: eighthLimit } };
  const podWith = (limit: string): ResourceRequirements => ({
    requests: { cpu: '5m', memory: quarter },
    limits: { cpu: '5m', memory: limit },
  });
  const [guaranteed, burstable] = [podWith(quarter), podWith(quarterLimit)];
  const critical = (name: string, priority: number): Partial<PodSpec> => ({ priorityClassName: name, priority });
  const unequal = (request: string): ResourceRequirements => ({
    requests: { cpu: '5m', memory: request },
    limits: { cpu: '5m', memory: quarterLimit },
  });

  it.each<[string, Partial<PodSpec>, number, Readonly<Record<string, number>>]>([
    ['a CPU limit', { containers: [main('a', { limits: { cpu: '10' } })] }, G4, { a: 999 }],
    [
      'a memory limit, a CPU request of 0',
      { containers: [main('a', { requests: { cpu: '0' }, limits: { memory: '10G' } })] },
      G8,
      { a: 999 },
    ],
    ['a memory limit of 0', { containers: [main('a', { limits: { memory: '0' } })] }, 7_230_457_451, { a: 1000 }],
    ['no requests and limits', { containers: [main('a')] }, G4, { a: 1000 }],
    [
      'requests as limits',
      { containers: [main('a', { requests: { cpu: '5m', memory: '10G' }, limits: { cpu: '5m', memory: '10G' } })] },
      123_456_789,
      { a: -997 },
    ],
    [
      "a request of half of the node's memory",
      { containers: [main('a', { requests: { cpu: '5m', memory: '4000000000' }, limits: { memory: '10G' } })] },
      G8,
      { a: 500 },
    ],
    [
      "a request of almost all of the node's memory",
      { containers: [main('a', { requests: { cpu: '5m', memory: '7999999999' } })] },
      G8,
      { a: 3 },
    ],
    [
      'cluster-critical',
      { ...critical('system-cluster-critical', 2_000_000_000), containers: [main('a')] },
      G4,
      { a: 1000 },
    ],
    ['node-critical', { ...critical('system-node-critical', 2_000_001_000), containers: [main('a')] }, G4, { a: -997 }],
    [
      "a request of an eighth of the node's memory",
      { initContainers: [main('init', usual)], containers: [main('a', usual)] },
      G8,
      { init: 875, a: 875 },
    ],
    [
      'a sidecar that requests less than the main container',
      {
        initContainers: [main('init', usual), sidecar('s', memory('400000000', eighthLimit))],
        containers: [main('a', usual)],
      },
      G8,
      { init: 875, s: 875, a: 875 },
    ],
    [
      'a sidecar that requests as much as the main container',
      { initContainers: [sidecar('s', usual)], containers: [main('a', usual)] },
      G8,
      { s: 875, a: 875 },
    ],
    [
      'a sidecar that requests more than the main container',
      { initContainers: [sidecar('s', memory('4000000000', eighthLimit))], containers: [main('a', usual)] },
      G8,
      { s: 500, a: 875 },
    ],
    ['a guaranteed pod', { resources: guaranteed, containers: [main('a'), main('b')] }, G4, { a: -997, b: -997 }],
    [
      'a guaranteed pod of guaranteed containers',
      { resources: guaranteed, containers: [main('a', exact), main('b', exact)] },
      G4,
      { a: -997, b: -997 },
    ],
    [
      'a guaranteed pod of containers that are not guaranteed',
      { resources: guaranteed, containers: [main('a', loose), main('b')] },
      G4,
      { a: -997, b: -997 },
    ],
    ['a burstable pod', { resources: burstable, containers: [main('a'), main('b')] }, G4, { a: 750, b: 750 }],
    [
      'a burstable pod of guaranteed containers',
      { resources: burstable, containers: [main('a', exact), main('b', exact)] },
      G4,
      { a: 750, b: 750 },
    ],
    [
      'a burstable pod of a guaranteed container and one without requests',
      { resources: burstable, containers: [main('a', exact), main('b')] },
      G4,
      { a: 625, b: 875 },
    ],
    [
      'a burstable pod with a sidecar',
      { resources: burstable, initContainers: [sidecar('s')], containers: [main('a')] },
      G4,
      { s: 750, a: 750 },
    ],
    [
      'a burstable pod with a sidecar that requests as much as the main container',
      { resources: burstable, initContainers: [sidecar('s', usual)], containers: [main('a', usual)] },
      G4,
      { s: 750, a: 750 },
    ],
    [
      'a burstable pod with a smaller sidecar',
      {
        resources: burstable,
        initContainers: [sidecar('s', unequal('200000000'))],
        containers: [main('a', unequal('1000000000')), main('b', unequal('500000000'))],
      },
      G4,
      { s: 850, a: 725, b: 850 },
    ],
  ])('oom_score_adj equals that of the Go kubelet: %s', (_title, spec, capacity, scores) => {
    const pod = makePod(spec);
    const init = (pod.spec.initContainers ?? []).map(
      (container) => [container, container.restartPolicy === 'Always' ? 'sidecar' : 'init'] as const,
    );
    const all = [...init, ...pod.spec.containers.map((container) => [container, 'main'] as const)];
    const found = all.map(([container, type]) => [container.name, oomScoreAdjust(pod, container, type, capacity)]);
    expect(Object.fromEntries(found)).toEqual(scores);
  });
});
