import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  milliCpuToQuotaUs,
  milliCpuToShares,
  quotaUsToMilliCpu,
  sharesToMilliCpu,
  sharesToWeight,
  weightToShares,
} from '../src/index.ts';

describe('CPU time', () => {
  test.each([
    [0, 2],
    [1, 2],
    [2, 2],
    [100, 102],
    [1000, 1024],
    [255_999, 262_142],
    [10_000_000, 262_144],
  ])('%i milli-CPU are %i shares', (milli, shares) => {
    expect(milliCpuToShares(milli)).toBe(shares);
  });

  test.each([
    [0, 100_000, 0],
    [1, 100_000, 1000],
    [9, 100_000, 1000],
    [10, 100_000, 1000],
    [200, 100_000, 20_000],
    [1500, 100_000, 150_000],
    [1500, 5000, 7500],
    [100, 5000, 1000],
  ])('%i milli-CPU in a period of %i are a quota of %i', (milli, period, quota) => {
    expect(milliCpuToQuotaUs(milli, period)).toBe(quota);
  });

  test.each([
    [0, 1],
    [2, 1],
    [10, 1],
    [102, 4],
    [1024, 39],
    [2048, 79],
    [262_143, 9999],
    [262_144, 10_000],
    [999_999, 10_000],
  ])('%i shares are a weight of %i', (shares, weight) => {
    expect(sharesToWeight(shares)).toBe(weight);
  });

  test('weights grow with shares, stay in their range, and every weight is told back', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 262_144 }), fc.integer({ min: 0, max: 1000 }), (shares, more) => {
        const weight = sharesToWeight(shares);
        expect(weight).toBeGreaterThanOrEqual(1);
        expect(weight).toBeLessThanOrEqual(10_000);
        expect(sharesToWeight(shares + more)).toBeGreaterThanOrEqual(weight);
        expect(Math.abs(sharesToWeight(weightToShares(weight)) - weight)).toBeLessThanOrEqual(1);
      }),
    );
  });

  test.each([
    [2, 2],
    [102, 100],
    [1024, 1000],
    [1, 0],
  ])('%i shares stand for %i milli-CPU', (shares, milli) => {
    expect(sharesToMilliCpu(shares)).toBe(milli);
  });

  test('a quota is told back as a limit, and none is 0', () => {
    expect([quotaUsToMilliCpu(150_000, 100_000), quotaUsToMilliCpu(-1, 100_000)]).toEqual([1500, 0]);
  });
});
