import { expect, test } from 'vitest';
import { parseInt64 } from '../src/index.ts';

test.each([
  ['0', 0n],
  ['+3', 3n],
  ['-3', -3n],
  ['007', 7n],
  [`${'0'.repeat(39)}7`, 7n],
  ['9223372036854775807', 2n ** 63n - 1n],
  ['-9223372036854775808', -(2n ** 63n)],
  ['9223372036854775808', Number.NaN],
  ['-9223372036854775809', Number.NaN],
  [`${'0'.repeat(40)}7`, Number.NaN],
  ['3.0', Number.NaN],
  ['', Number.NaN],
  [' 3', Number.NaN],
  ['+-3', Number.NaN],
  ['0x3', Number.NaN],
])('parseInt64 parses the text %j as the integer %s', (text, value) => {
  expect(parseInt64(text)).toBe(value);
});
