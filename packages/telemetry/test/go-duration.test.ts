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
  [3_600_000, '1h0m0s'],
])('%d ms is %s in Go’s words', (ms, expected) => {
  expect(goDuration(ms)).toBe(expected);
});
