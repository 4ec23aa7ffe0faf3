import { Quantity } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import type { Reclaim } from '../src/index.ts';
import { isRemovalDue, showsEffect } from '../src/removal.ts';

describe('isRemovalDue', () => {
  test.each<[string, Reclaim[], Reclaim[] | undefined, boolean, boolean]>([
    ['something can be removed', ['containers'], undefined, false, true],
    ['nothing can be removed', [], undefined, false, false],
    ['nothing can be removed, but the disk usage of pods is measured', [], undefined, true, true],
    ['the stats show the same removal', ['containers', 'images'], ['containers', 'images'], true, false],
    ['the stats show a removal of more kinds', ['containers'], ['containers', 'images'], true, false],
    ['the stats show a removal that kept images', ['containers', 'images'], ['containers'], true, true],
    ['the stats show a measurement, and nothing can be removed', [], [], true, false],
  ])('N2: isRemovalDue returns $4 if %s', (_name, kinds, shown, measuresUsage, expected) => {
    expect(isRemovalDue(kinds, shown, measuresUsage)).toBe(expected);
  });
});

describe('showsEffect', () => {
  const observed = (atMs: number | undefined) => ({ available: Quantity.of(1), capacity: Quantity.of(2), atMs });

  test.each([
    ['newer', 1001, true],
    ['from the end of the removal', 1000, true],
    ['older', 999, false],
    ['without a time', undefined, false],
  ])('N2: showsEffect returns $2 for a removal and stats that are %s', (_name, atMs, expected) => {
    const observations = new Map([['nodefs.available', observed(atMs)]] as const);
    expect(showsEffect({ endedAtMs: 1000 }, { signal: 'nodefs.available' }, { observations })).toBe(expected);
    expect(showsEffect({ endedAtMs: 1000 }, { signal: 'imagefs.available' }, { observations })).toBe(false);
  });
});
