import { describe, expect, test } from 'vitest';
import { CgroupError, type ResourceConfig } from '../../src/index.ts';
import { cpuBits } from '../../src/systemd/cpu-bits.ts';
import { resourceProperties, sliceProperties, withWholePercents } from '../../src/systemd/unit-properties.ts';

const INFINITY = (1n << 64n) - 1n;

describe('systemd unit properties with their D-Bus types', () => {
  test('properties of a new slice', () => {
    expect(sliceProperties('a-b.slice', 'a.slice', 2)).toEqual([
      ['Description', 's', 'Kubernetes cgroup a-b.slice'],
      ['Wants', 'as', ['a.slice']],
      ['MemoryAccounting', 'b', true],
      ['CPUAccounting', 'b', true],
      ['IOAccounting', 'b', true],
      ['TasksAccounting', 'b', true],
      ['DefaultDependencies', 'b', false],
    ]);
    expect(sliceProperties('a-b.slice', 'a.slice', 1)[4]).toEqual(['BlockIOAccounting', 'b', true]);
  });

  test.each<[number, string[]]>([
    [241, ['CPUQuotaPerSecUSec t']],
    [242, ['CPUQuotaPeriodUSec t', 'CPUQuotaPerSecUSec t']],
    [243, ['CPUQuotaPeriodUSec t', 'CPUQuotaPerSecUSec t']],
    [244, ['CPUQuotaPeriodUSec t', 'CPUQuotaPerSecUSec t', 'AllowedCPUs ay']],
  ])('systemd %i gets the CPU properties $1', (version, expected) => {
    const properties = resourceProperties({ cpuQuotaUs: 1000, cpuPeriodUs: 100_000, cpus: '0' }, 2, version);
    expect(properties.map(([name, type]) => `${name} ${type}`)).toEqual(expected);
  });

  test.each<[ResourceConfig, bigint]>([
    [{ cpuPeriodUs: 100_000 }, INFINITY],
    [{ cpuQuotaUs: 0, cpuPeriodUs: 100_000 }, INFINITY],
    [{ cpuQuotaUs: -1, cpuPeriodUs: 100_000 }, INFINITY],
    [{ cpuQuotaUs: 1, cpuPeriodUs: 100_000 }, 10_000n],
  ])('for the CPU limits %j, CPUQuotaPerSecUSec is $1', (config, perSecond) => {
    expect(resourceProperties(config, 2, 252).find(([name]) => name === 'CPUQuotaPerSecUSec')?.[2]).toBe(perSecond);
  });
});

describe('CPU quota rounding to whole percents', () => {
  test.each([
    ['limits without a quota', {}],
    ['a period without a quota', { cpuPeriodUs: 100_000 }],
    ['a quota of 0, which sets no limit', { cpuQuotaUs: 0 }],
    ['an unlimited quota', { cpuQuotaUs: -1, cpuPeriodUs: 100_000 }],
    ['a quota of a whole percent', { cpuQuotaUs: 1000, cpuPeriodUs: 100_000 }],
    [
      'a quota that is a whole percent when rounded down to microseconds per second',
      { cpuQuotaUs: 10_000, cpuPeriodUs: 999_999 },
    ],
  ])('withWholePercents does not change %s', (_title, config: ResourceConfig) => {
    expect(withWholePercents(config)).toEqual(config);
  });

  test('a fractional quota is rounded up to the next percent', () => {
    expect(withWholePercents({ cpuQuotaUs: 1 })).toEqual({ cpuQuotaUs: 1000 });
    expect(withWholePercents({ cpuQuotaUs: 1001 })).toEqual({ cpuQuotaUs: 2000 });
    expect(withWholePercents({ cpuQuotaUs: 12_345_678 })).toEqual({ cpuQuotaUs: 12_346_000 });
  });
});

describe('lists of CPUs', () => {
  test('a CPU list may skip whole bytes and contain the highest possible CPU', () => {
    expect([...cpuBits('0,17')]).toEqual([1, 0, 2]);
    expect(cpuBits('65535')).toHaveLength(8192);
  });

  test.each(['0,3-1', '0,x', '0,65536', '3-1', '', ' , '])('cpuBits rejects the CPU list %j', (list) => {
    expect(() => cpuBits(list)).toThrow(CgroupError);
  });
});
