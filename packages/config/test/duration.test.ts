import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatDuration, msToNanoseconds, nanosecondsToMs, parseDuration } from '../src/duration.ts';

describe('parseDuration', () => {
  it.each([
    ['0', 0n],
    ['-0', 0n],
    ['0s', 0n],
    ['1m30s', 90_000_000_000n],
    ['300ms', 300_000_000n],
    ['1.5h', 5_400_000_000_000n],
    ['-1.5s', -1_500_000_000n],
    ['+5s', 5_000_000_000n],
    ['.5s', 500_000_000n],
    ['1.s', 1_000_000_000n],
    ['1us', 1_000n],
    ['1µs', 1_000n],
    ['1μs', 1_000n],
    ['1ns', 1n],
    ['0.4ns', 0n],
    ['1h2m3s4ms5us6ns', 3_723_004_005_006n],
    ['3000h', 10_800_000_000_000_000n],
    ['9223372036854775807ns', 9_223_372_036_854_775_807n],
    ['-9223372036854775808ns', -9_223_372_036_854_775_808n],
  ])('parseDuration reads %s as %d ns', (text, nanoseconds) => {
    expect(parseDuration(text)).toBe(nanoseconds);
  });

  it.each([
    '',
    '-',
    '5',
    '1.5',
    's',
    '.s',
    '1m 30s',
    '1d',
    '1M',
    '1h-1m',
    'abc',
    '9223372036854775808ns',
    '9223372036854775809ns',
    '-9223372036854775809ns',
    '1e3s',
    ' 1s',
  ])('parseDuration refuses %j', (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });
});

describe('formatDuration', () => {
  it.each([
    [0n, '0s'],
    [1n, '1ns'],
    [999n, '999ns'],
    [1_000n, '1µs'],
    [1_100n, '1.1µs'],
    [1_000_000n, '1ms'],
    [1_000_000_000n, '1s'],
    [-1n, '-1ns'],
    [-1_500_000n, '-1.5ms'],
    [2_200_000n, '2.2ms'],
    [300_000_000n, '300ms'],
    [1_500_000_000n, '1.5s'],
    [60_000_000_000n, '1m0s'],
    [5_400_000_000_000n, '1h30m0s'],
    [-90_000_000_000n, '-1m30s'],
    [3_600_000_000_001n, '1h0m0.000000001s'],
  ])('formatDuration writes %d ns as %s', (nanoseconds, text) => {
    expect(formatDuration(nanoseconds)).toBe(text);
  });

  it('a formatted duration is parsed to the same value', () => {
    fc.assert(
      fc.property(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), (nanoseconds) => {
        expect(parseDuration(formatDuration(nanoseconds))).toBe(nanoseconds);
      }),
    );
  });
});

describe('milliseconds', () => {
  it('milliseconds as numbers represent every nanosecond of 40 days', () => {
    const limit = 40n * 86_400_000_000_000n;
    fc.assert(
      fc.property(fc.bigInt(-limit, limit), (nanoseconds) => {
        expect(msToNanoseconds(nanosecondsToMs(nanoseconds))).toBe(nanoseconds);
      }),
    );
  });

  it('milliseconds as numbers represent every millisecond of 100 years', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 3_155_760_000_000n), (ms) => {
        expect(msToNanoseconds(nanosecondsToMs(ms * 1_000_000n))).toBe(ms * 1_000_000n);
      }),
    );
  });
});
