import { describe, expect, test } from 'vitest';
import { milliCpuToQuotaUs, milliCpuToShares, sharesToMilliCpu } from '../src/index.ts';

describe('CPU time', () => {
  test.each([
    [0, 2],
    [1, 2],
    [2, 2],
    [100, 102],
    [1000, 1024],
    [255_999, 262_142],
    [256_001, 262_144],
    [10_000_000, 262_144],
  ])('%i milli-CPU are converted to %i CPU shares', (milli, shares) => {
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
  ])('%i milli-CPU with a period of %i µs are converted to a quota of %i µs', (milli, period, quota) => {
    expect(milliCpuToQuotaUs(milli, period)).toBe(quota);
  });

  test.each([
    [0, 0],
    [1, 0],
    [2, 2],
    [3, 3],
    [102, 100],
    [1024, 1000],
    [1025, 1001],
  ])('%i CPU shares are converted to %i milli-CPU', (shares, milli) => {
    expect(sharesToMilliCpu(shares)).toBe(milli);
  });
});
