import { expect, test } from 'vitest';
import { goDuration } from '../src/go-duration.ts';

test.each([
  [0, '0s'],
  [500, '500ms'],
  [1_000, '1s'],
  [10_000, '10s'],
  [80_000, '1m20s'],
  [160_000, '2m40s'],
  [300_000, '5m0s'],
  [1_500, '1.5s'],
  [1, '1ms'],
  [999, '999ms'],
  [1_000.25, '1s'],
  [1_010.5, '1.01s'],
  [59_999, '59.999s'],
  [60_000, '1m0s'],
  [61_001, '1m1.001s'],
  [3_599_000, '59m59s'],
  [3_600_000, '1h0m0s'],
  [90_061_500, '25h1m1.5s'],
])("%d ms is written in Go's duration format as %s", (ms, expected) => {
  expect(goDuration(ms)).toBe(expected);
});
