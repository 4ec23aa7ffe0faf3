import { type Pod, parseResourceList, type ResourceRequirements } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import {
  cgroupfsPath,
  childName,
  listResourceConfig,
  parseSystemdPath,
  podResourceConfig,
  sharesToWeight,
  systemdPath,
  weightToShares,
} from '../src/index.ts';
import { qosMemoryProtection } from '../src/memory-qos.ts';
import { podUidOf } from '../src/pod-names.ts';
import { container, makePod } from './pods.ts';

const MI = 1024 ** 2;
type Amounts = readonly [cpu?: string, memory?: string];

const list = ([cpu, memory]: Amounts = []) => ({ ...(cpu && { cpu }), ...(memory && { memory }) });
const c = (requests?: Amounts, limits?: Amounts) => container('c', list(requests), list(limits));
const whole = (requests?: Amounts, limits?: Amounts): { readonly resources: ResourceRequirements } => ({
  resources: { ...(requests && { requests: list(requests) }), ...(limits && { limits: list(limits) }) },
});

/**
 * `pkg/kubelet/cm/helpers_linux_test.go`, TestResourceConfigForPod: shares, quota, period and memory of each case.
 */
describe("pod limits in upstream's test cases", () => {
  const small: Amounts = ['100m', '100Mi'];
  const large: Amounts = ['200m', '200Mi'];
  const none: Amounts = ['', ''];
  const burstable = makePod('u', [c(small, large)]);
  const partial = makePod('u', [c(small, large), c(small)]);
  const guaranteed = makePod('u', [c(small, small)]);
  const odd: Amounts = ['100m', '100m'];
  const time = (cpuQuotaUs: number, cpuPeriodUs = 100_000) => ({ cpuQuotaUs, cpuPeriodUs });
  const tuned = { cpuCfsQuotaPeriodUs: 5000 };
  const off = { cpuCfsQuota: false };
  const memory = (mebibytes: number) => ({ memoryBytes: mebibytes * MI });

  test.each<[string, Pod, Parameters<typeof podResourceConfig>[1], ReturnType<typeof podResourceConfig>]>([
    ['besteffort', makePod('u', [c()]), {}, { cpuShares: 2 }],
    ['burstable-no-limits', makePod('u', [c(small)]), {}, { cpuShares: 102 }],
    ['burstable-with-limits', burstable, {}, { cpuShares: 102, ...time(20_000), ...memory(200) }],
    ['burstable-with-limits-no-cpu-enforcement', burstable, off, { cpuShares: 102, ...time(-1), ...memory(200) }],
    ['burstable-partial-limits', partial, {}, { cpuShares: 204 }],
    [
      'burstable-with-limits-with-tuned-quota',
      burstable,
      tuned,
      { cpuShares: 102, ...time(1000, 5000), ...memory(200) },
    ],
    [
      'burstable-with-limits-no-cpu-enforcement-with-tuned-quota',
      burstable,
      { ...off, ...tuned },
      { cpuShares: 102, ...time(-1, 5000), ...memory(200) },
    ],
    ['burstable-partial-limits-with-tuned-quota', partial, tuned, { cpuShares: 204 }],
    ['guaranteed', guaranteed, {}, { cpuShares: 102, ...time(10_000), ...memory(100) }],
    ['guaranteed-no-cpu-enforcement', guaranteed, off, { cpuShares: 102, ...time(-1), ...memory(100) }],
    ['guaranteed-with-tuned-quota', guaranteed, tuned, { cpuShares: 102, ...time(1000, 5000), ...memory(100) }],
    [
      'guaranteed-no-cpu-enforcement-with-tuned-quota',
      guaranteed,
      { ...off, ...tuned },
      { cpuShares: 102, ...time(-1, 5000), ...memory(100) },
    ],
    [
      'burstable-partial-limits-with-init-containers',
      makePod('u', [c(odd, small), c(odd)], { initContainers: [c(odd, small), c(odd)] }),
      tuned,
      { cpuShares: 204 },
    ],
    ['besteffort-with-pod-level-resources-enabled', makePod('u', [c()], whole(none, none)), {}, { cpuShares: 2 }],
    ['burstable-with-pod-level-requests', makePod('u', [c()], whole(small)), {}, { cpuShares: 102 }],
    [
      'burstable-with-pod-and-container-level-requests',
      makePod('u', [c(['10m', '50Mi'])], whole(small)),
      {},
      { cpuShares: 102 },
    ],
    [
      'burstable-with-pod-level-resources',
      makePod('u', [c()], whole(small, large)),
      {},
      { cpuShares: 102, ...time(20_000), ...memory(200) },
    ],
    [
      'burstable-with-pod-and-container-level-resources',
      makePod('u', [c(['10m', '50Mi'], ['50m', '100Mi'])], whole(small, large)),
      {},
      { cpuShares: 102, ...time(20_000), ...memory(200) },
    ],
    [
      'burstable-with-partial-pod-level-resources-limits',
      makePod('u', [c(large, large)], whole(['200m', '300Mi'])),
      {},
      { cpuShares: 204, ...time(20_000), ...memory(200) },
    ],
    [
      'guaranteed-with-pod-level-resources',
      makePod('u', [c()], whole(small, small)),
      {},
      { cpuShares: 102, ...time(10_000), ...memory(100) },
    ],
    [
      'guaranteed-with-pod-and-container-level-resources',
      makePod('u', [c(['10m', '50Mi'], ['50m', '100Mi'])], whole(small, small)),
      {},
      { cpuShares: 102, ...time(10_000), ...memory(100) },
    ],
    [
      'guaranteed-pod-level-resources-with-init-containers',
      makePod('u', [c(['10m', '50Mi'], ['50m', '50Mi'])], {
        ...whole(small, small),
        initContainers: [c(['10m', '50Mi'], ['50m', '50Mi'])],
      }),
      {},
      { cpuShares: 102, ...time(10_000), ...memory(100) },
    ],
  ])("pod limits equal upstream's in the case %s", (_name, pod, options, expected) => {
    expect(podResourceConfig(pod, options)).toEqual({ ...expected, hugePageLimits: new Map() });
  });

  // The rows are those of upstream's TestResourceConfigForPodWithEnforceMemoryQoS.
  test.each([
    ['besteffort', makePod('u', [c()]), undefined],
    ['burstable-no-limits', makePod('u', [c(small)]), { 'memory.low': '104857600' }],
    ['burstable-with-limits', burstable, { 'memory.low': '104857600' }],
    ['burstable-partial-limits', partial, { 'memory.low': '209715200' }],
    ['guaranteed', guaranteed, { 'memory.min': '104857600' }],
  ])("pod limits with memory protection equal upstream's in the case %s", (_name, pod, unified) => {
    expect(podResourceConfig(pod, { memoryQos: 'TieredReservation' }).unified).toEqual(unified);
  });

  // The rows are those of upstream's TestHugePageLimits.
  test.each([
    [{ '2Mi': '128' }, []],
    [{ 'hugepages-2Mi': '128' }, [['2MB', 128n]]],
    [
      { 'hugepages-2Mi': '128', 'hugepages-2097152': '256', 'hugepages-4Mi': '512', '4Mi': '1024' },
      [
        ['2MB', 384n],
        ['4MB', 512n],
      ],
    ],
  ])('the huge page limits for the resources %j are $1', (resources, expected) => {
    expect([...(listResourceConfig(parseResourceList(resources)).hugePageLimits ?? [])]).toEqual(expected);
  });

  // `node_container_manager_linux_test.go`, TestGetCgroupConfig.
  test('a reserved cgroup gets exactly the limits that its reservation names', () => {
    const both = parseResourceList({ cpu: '100m', memory: '200Mi' });
    expect(listResourceConfig(both, 'compressible')).toEqual({ cpuShares: 102 });
    const rest = { hugePageLimits: new Map() };
    expect(listResourceConfig(both)).toEqual({ cpuShares: 102, memoryBytes: 200 * MI, ...rest });
    expect(listResourceConfig(parseResourceList({ memory: '200Mi' }))).toEqual({ memoryBytes: 200 * MI, ...rest });
  });

  // `qos_container_manager_linux_test.go`, TestQoSContainerCgroup.
  test.each<[string, readonly Pod[], number, number]>([
    [
      'of pods of both classes',
      [
        makePod('a', [c(['1', '128Mi'], ['1', '128Mi'])]),
        makePod('b', [c(['1', '128Mi'], ['2', '256Mi'])]),
        makePod('d', [c(['2', '256Mi'])]),
      ],
      512,
      384,
    ],
    ['of a pod without requests', [makePod('a', [c()])], 0, 0],
    ['of a pod without a memory request', [makePod('a', [c(['1', ''])])], 0, 0],
    ['of no pod', [], 0, 0],
  ])(
    'the memory protection %s is $2 MiB for all pods and $3 MiB for Burstable pods',
    (_name, pods, all, burstableMi) => {
      const protection = qosMemoryProtection(pods, 'TieredReservation');
      expect(protection).toMatchObject({ allBytes: BigInt(all * MI), burstableBytes: BigInt(burstableMi * MI) });
    },
  );
});

/** `cgroup_manager_linux_test.go`, `pod_container_manager_linux_test.go`. */
describe("names and shares in upstream's test cases", () => {
  test.each([
    [[], '/', '/'],
    [['Burstable'], '/Burstable', '/Burstable.slice'],
    [['Burstable', 'pod-123'], '/Burstable/pod-123', '/Burstable.slice/Burstable-pod_123.slice'],
    [['test', 'a', 'b'], '/test/a/b', '/test.slice/test-a.slice/test-a-b.slice'],
    [
      ['BestEffort', 'pod-6c1a4e95-6bb6-11e6-bc26-28d2444e470d'],
      '/BestEffort/pod-6c1a4e95-6bb6-11e6-bc26-28d2444e470d',
      '/BestEffort.slice/BestEffort-pod_6c1a4e95_6bb6_11e6_bc26_28d2444e470d.slice',
    ],
  ])('cgroup %j is %s, and %s for systemd', (parts, cgroupfs, systemd) => {
    const name = childName([], ...parts);
    expect([cgroupfsPath(name), systemdPath(name)]).toEqual([cgroupfs, systemd]);
    expect(parseSystemdPath(systemd)).toEqual(name);
  });

  test('a path without the .slice suffix is also a cgroup name', () => {
    expect([parseSystemdPath('/test'), parseSystemdPath('/test.slice')]).toEqual([['test'], ['test']]);
  });

  test.each([
    [1, 2],
    [2, 28],
    [3, 54],
    [4, 80],
    [245, 6398],
    [10_000, 262_144],
  ])('weightToShares converts the CPU weight %i to %i CPU shares', (weight, shares) => {
    expect(weightToShares(weight)).toBe(shares);
  });

  test.each([
    [2, 1],
    [262_144, 10_000],
    [1_000_000_000, 10_000],
  ])('sharesToWeight converts %i CPU shares to the CPU weight %i', (shares, weight) => {
    expect(sharesToWeight(shares)).toBe(weight);
  });

  test.each([
    ['pod123', '123'],
    ['system', undefined],
    ['pod', undefined],
    // Upstream does not recognise such a pod, because it searches for the prefix anywhere; the pod's cgroup would
    // never be removed.
    ['podthis-uid-contains-reserved-word-pod', 'this-uid-contains-reserved-word-pod'],
  ])('the cgroup %s belongs to pod %s', (part, uid) => {
    expect(podUidOf(part)).toBe(uid);
  });
});
