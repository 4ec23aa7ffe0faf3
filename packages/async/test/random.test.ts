import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jitter, seededRandom, systemRandom } from '../src/index.ts';

describe('seededRandom', () => {
  it.each([
    [0, [0.26642920868471265, 0.0003297457005828619, 0.2232720274478197]],
    [1, [0.6270739405881613, 0.002735721180215478, 0.5274470399599522]],
    [2 ** 32 - 1, [0.8964226141106337, 0.189478256739676]],
  ])('seededRandom with the seed %i returns the reference numbers of mulberry32', (seed, numbers) => {
    const random = seededRandom(seed);
    expect(numbers.map(() => random.next())).toEqual(numbers);
  });

  it('seededRandom returns the same numbers in [0, 1) for the same seed, and others for another seed', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 32 - 2 }), (seed) => {
        const take = (from: number): number[] => {
          const random = seededRandom(from);
          return Array.from({ length: 5 }, () => random.next());
        };
        expect(take(seed)).toEqual(take(seed));
        expect(take(seed)).not.toEqual(take(seed + 1));
        expect(take(seed).every((n) => n >= 0 && n < 1)).toBe(true);
      }),
    );
  });
});

describe('jitter', () => {
  it('jitter extends a duration by at most its factor; a factor of 0 counts as 1', () => {
    expect(jitter({ next: () => 0 }, 100, 0.5)).toBe(100);
    expect(jitter({ next: () => 0.5 }, 100, 0.5)).toBe(125);
    expect(jitter({ next: () => 0.5 }, 100, 0)).toBe(150);
    expect(jitter({ next: () => 0.5 }, 100, -3)).toBe(150);
    const once = jitter(systemRandom, 100, 0.1);
    expect(once >= 100 && once < 110).toBe(true);
  });
});
