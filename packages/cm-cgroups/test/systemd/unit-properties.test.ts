import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ResourceConfig } from '../../src/index.ts';
import { cpuBits } from '../../src/systemd/cpu-bits.ts';
import { resourceProperties, sliceProperties, withWholePercents } from '../../src/systemd/unit-properties.ts';
import { parseSystemdVersion } from '../../src/systemd/version.ts';

const INFINITY = (1n << 64n) - 1n;

describe("systemd properties of a cgroup's limits", () => {
  test.each<[string, ResourceConfig, 1 | 2, Record<string, unknown>]>([
    ['nothing', {}, 2, {}],
    ['shares on v2', { cpuShares: 1024 }, 2, { CPUWeight: 39n }],
    ['shares on v1', { cpuShares: 1024 }, 1, { CPUShares: 1024n }],
    ['memory on v2', { memoryBytes: 4096 }, 2, { MemoryMax: 4096n }],
    ['memory on v1', { memoryBytes: 4096 }, 1, { MemoryLimit: 4096n }],
    ['unlimited memory', { memoryBytes: -1 }, 2, { MemoryMax: INFINITY }],
    ['limits of 0, which set nothing', { memoryBytes: 0, cpuQuotaUs: 0 }, 2, {}],
    ['swap', { swapBytes: 0 }, 2, { MemorySwapMax: 0n }],
    ['swap on v1, where the swap limit includes memory', { swapBytes: 0 }, 1, {}],
    ['processes', { pidsLimit: 0 }, 2, { TasksMax: 1n }],
    ['unlimited processes', { pidsLimit: -1 }, 2, { TasksMax: INFINITY }],
    [
      'a quota and its period',
      { cpuQuotaUs: 50_000, cpuPeriodUs: 100_000 },
      2,
      { CPUQuotaPeriodUSec: 100_000n, CPUQuotaPerSecUSec: 500_000n },
    ],
    [
      'a quota that is not a whole percent',
      { cpuQuotaUs: 12_345, cpuPeriodUs: 100_000 },
      2,
      { CPUQuotaPeriodUSec: 100_000n, CPUQuotaPerSecUSec: 130_000n },
    ],
    [
      'no quota',
      { cpuQuotaUs: -1, cpuPeriodUs: 100_000 },
      1,
      { CPUQuotaPeriodUSec: 100_000n, CPUQuotaPerSecUSec: INFINITY },
    ],
    ['a quota without a period', { cpuQuotaUs: 200_000 }, 2, { CPUQuotaPerSecUSec: 2_000_000n }],
    ['CPUs', { cpus: '0-1,9' }, 2, { AllowedCPUs: Uint8Array.of(3, 2) }],
    [
      'protected memory',
      { unified: { 'memory.min': '5', 'memory.low': '6', 'memory.high': 'max' } },
      2,
      { MemoryMin: 5n, MemoryLow: 6n, MemoryHigh: INFINITY },
    ],
    [
      'memory limits that are given as cgroup v2 files',
      { unified: { 'memory.max': '7', 'memory.swap.max': '8' } },
      2,
      { MemoryMax: 7n, MemorySwapMax: 8n },
    ],
    ['cgroup v2 files on v1', { unified: { 'memory.min': '5' } }, 1, {}],
    [
      'limits without a systemd property',
      { oomGroup: true, hugePageLimits: 'unlimited', unified: { 'misc.max': 'x 1', 'memory.min': 'odd' } },
      2,
      {},
    ],
  ])('the systemd properties for %s are $3', (_name, config, version, expected) => {
    const properties = resourceProperties(config, version, 257);
    expect(Object.fromEntries(properties.map(([name, , value]) => [name, value]))).toEqual(expected);
  });

  test('an old systemd gets no properties that it does not support', () => {
    const config = { cpus: '0', cpuQuotaUs: 1000, cpuPeriodUs: 10_000 };
    expect(resourceProperties(config, 2, 241).map(([name]) => name)).toEqual(['CPUQuotaPerSecUSec']);
    expect(resourceProperties(config, 2, 243).map(([name]) => name)).toEqual([
      'CPUQuotaPeriodUSec',
      'CPUQuotaPerSecUSec',
    ]);
  });

  test("the control files get the same quota as systemd, and never less than the pod's limit", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1000, max: 10_000_000 }),
        fc.integer({ min: 1000, max: 1_000_000 }),
        (quota, period) => {
          const { cpuQuotaUs = 0 } = withWholePercents({ cpuQuotaUs: quota, cpuPeriodUs: period });
          const [, , perSecond] = resourceProperties({ cpuQuotaUs: quota, cpuPeriodUs: period }, 2, 257)[1] ?? [];
          // The difference is below one percent of a second, apart from the rounding to the kernel's microseconds.
          expect(cpuQuotaUs).toBeGreaterThanOrEqual(quota - 1);
          expect(cpuQuotaUs).toBeLessThanOrEqual(quota + period / 100);
          expect(Number(perSecond) % 10_000).toBe(0);
          expect(Math.abs(cpuQuotaUs - Math.floor((Number(perSecond) * period) / 1e6))).toBeLessThanOrEqual(
            period / 1e6 + 1,
          );
        },
      ),
    );
  });

  test('a slice has accounting enabled, no default dependencies, and its parent slice', () => {
    const properties = sliceProperties('a-b.slice', 'a.slice', 2);
    expect(Object.fromEntries(properties.map(([name, , value]) => [name, value]))).toEqual({
      Description: 'Kubernetes cgroup a-b.slice',
      Wants: ['a.slice'],
      ...{ MemoryAccounting: true, CPUAccounting: true, IOAccounting: true, TasksAccounting: true },
      DefaultDependencies: false,
    });
    expect(sliceProperties('a.slice', '-.slice', 1).map(([name]) => name)).toContain('BlockIOAccounting');
  });
});

describe('CPU lists as bit masks', () => {
  // The values of opencontainers' own test table.
  test.each<[string, number[]]>([
    ['0', [0x01]],
    ['4-7', [0xf0]],
    ['0-7', [0xff]],
    ['8', [0x00, 0x01]],
    [' 2 , 0,,3 ', [0x0d]],
    ['0,8-9,16', [0x01, 0x03, 0x01]],
    ['4,6,8,10', [0x50, 0x05]],
  ])('cpuBits converts the CPU list %j to the bytes $1', (list, bytes) => {
    expect([...cpuBits(list)]).toEqual(bytes);
  });
  test.each(['', ' ', ',', 'a', '3-1', '-1', '1-', '1-2-3', '99999999', '0x1'])(
    'cpuBits refuses the CPU list %j',
    (list) => {
      expect(() => cpuBits(list)).toThrow(expect.objectContaining({ code: 'Refused' }));
    },
  );
});

test.each([
  ['257.9-1~deb13u1', 257],
  ['v245.4-1.fc32', 245],
  ['"252.39"', 252],
  ['none', 0],
])('the systemd version parsed from %s is %i', (text, version) => {
  expect(parseSystemdVersion(text)).toBe(version);
});
