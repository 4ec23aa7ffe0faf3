import { parseResourceList } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { allocatableAbsolute, listResourceConfig, podResourceConfig, qosShares } from '../src/index.ts';
import { bestEffort, burstable, container, guaranteed, makePod } from './pods.ts';

const NO_PAGES = { hugePageLimits: new Map() };
const CPU = { cpu: '100m' };
const MEMORY = { memory: '10Mi' };
const MIB = 1024 ** 2;

describe('limits of a pod', () => {
  test.each([
    {
      what: 'a BestEffort pod has the minimum shares',
      pod: bestEffort('u'),
      config: { cpuShares: 2 },
    },
    {
      what: 'a Guaranteed pod has the sum of its limits',
      pod: guaranteed('u'),
      config: { cpuShares: 102, cpuQuotaUs: 10_000, cpuPeriodUs: 100_000, memoryBytes: 10 * MIB },
    },
    {
      what: 'a Burstable pod without limits has only shares',
      pod: burstable('u'),
      config: { cpuShares: 256 },
    },
    {
      what: 'a pod has no memory limit if one of its containers has none',
      pod: makePod('u', [container('a', CPU, { ...CPU, ...MEMORY }), container('b', CPU, CPU)]),
      config: { cpuShares: 204, cpuQuotaUs: 20_000, cpuPeriodUs: 100_000 },
    },
    {
      what: 'a pod has no CPU limit if one of its init containers has none',
      pod: makePod('u', [container('a', CPU, { ...CPU, ...MEMORY })], {
        initContainers: [container('i', {}, MEMORY)],
      }),
      config: { cpuShares: 102, memoryBytes: 10 * MIB },
    },
    {
      what: 'sidecars count like main containers',
      pod: makePod('u', [container('a', CPU, CPU)], {
        initContainers: [container('s', CPU, CPU, { restartPolicy: 'Always' })],
      }),
      config: { cpuShares: 204, cpuQuotaUs: 20_000, cpuPeriodUs: 100_000 },
    },
    {
      what: 'pod-level limits apply even if containers have no limits',
      pod: makePod('u', [container('a'), container('b', CPU)], {
        resources: { requests: { cpu: '1' }, limits: { cpu: '2', memory: '64Mi' } },
      }),
      config: { cpuShares: 1024, cpuQuotaUs: 200_000, cpuPeriodUs: 100_000, memoryBytes: 64 * MIB },
    },
    {
      what: 'shares and limits include the overhead',
      pod: makePod('u', [container('a', { ...CPU, ...MEMORY }, { ...CPU, ...MEMORY })], {
        overhead: { cpu: '100m', memory: '2Mi' },
      }),
      config: { cpuShares: 204, cpuQuotaUs: 20_000, cpuPeriodUs: 100_000, memoryBytes: 12 * MIB },
    },
  ])('cgroup limits of a pod: $what', ({ pod, config }) => {
    expect(podResourceConfig(pod)).toEqual({ ...config, ...NO_PAGES });
  });

  test('a pod has no CPU limit if CFS quotas are off', () => {
    expect(podResourceConfig(guaranteed('u'), { cpuCfsQuota: false })).toMatchObject({ cpuQuotaUs: -1 });
  });

  test('the CPU quota is proportional to the period', () => {
    expect(podResourceConfig(guaranteed('u'), { cpuCfsQuotaPeriodUs: 20_000 })).toMatchObject({
      cpuQuotaUs: 2000,
      cpuPeriodUs: 20_000,
    });
  });

  test.each([
    [100, 100],
    [0, undefined],
    [-1, undefined],
    [undefined, undefined],
  ])('podPidsLimit %s sets a limit of %s', (podPidsLimit, expected) => {
    const options = podPidsLimit === undefined ? {} : { podPidsLimit };
    expect(podResourceConfig(bestEffort('u'), options).pidsLimit).toBe(expected);
  });

  test('requested huge pages are limited by page size', () => {
    const pages = { 'hugepages-2Mi': '4Mi', 'hugepages-1Gi': '1Gi' };
    const pod = makePod('u', [container('a', { ...CPU, ...pages }, pages)]);
    expect(podResourceConfig(pod).hugePageLimits).toEqual(
      new Map([
        ['2MB', 4n * 1024n ** 2n],
        ['1GB', 1024n ** 3n],
      ]),
    );
  });
});

describe('limits of the QoS cgroups', () => {
  test.each([
    { what: 'no pods', pods: [], shares: 2 },
    { what: 'pods of the other classes', pods: [guaranteed('a'), bestEffort('b')], shares: 2 },
    { what: 'two Burstable pods', pods: [burstable('a'), burstable('b', '1'), guaranteed('c')], shares: 1280 },
    { what: 'more requests than the kernel accepts', pods: [burstable('a', '1000')], shares: 262_144 },
  ])('CPU shares of a QoS cgroup with $what: $shares', ({ pods, shares }) => {
    expect(qosShares(pods)).toEqual({ burstable: shares, bestEffort: 2 });
  });
});

describe('limits of all pods together', () => {
  test('all pods get the capacity minus the reservations, and no memory limit if nothing is left, because libcontainer reads 0 as none', () => {
    const left = allocatableAbsolute(
      parseResourceList({ cpu: '2', memory: '1Gi', pid: '1000', 'hugepages-2Mi': '4Mi' }),
      parseResourceList({ cpu: '500m', memory: '1Gi' }),
      parseResourceList({ cpu: '250m', memory: '1Gi', pid: '100' }),
    );
    expect(listResourceConfig(left)).toEqual({
      cpuShares: 1280,
      pidsLimit: 900,
      hugePageLimits: new Map([['2MB', 4n * 1024n ** 2n]]),
    });
  });
});
