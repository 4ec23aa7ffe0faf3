import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sharesToWeight, weightToShares } from '../src/index.ts';

describe('CPU shares and CPU weights', () => {
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
  ])('sharesToWeight converts %i CPU shares to the CPU weight %i', (shares, weight) => {
    expect(sharesToWeight(shares)).toBe(weight);
  });

  test('CPU weights grow with shares, stay in range, and can be converted back', () => {
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
});
