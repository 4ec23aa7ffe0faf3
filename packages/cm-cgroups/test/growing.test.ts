import fc from 'fast-check';
import { expect, test } from 'vitest';
import { growing } from '../src/growing.ts';

const held = { cpuShares: 100, cpuQuotaUs: 20_000, cpuPeriodUs: 100_000, memoryBytes: 100, memoryUsageBytes: 60 };
const unlimited = { ...held, cpuQuotaUs: -1, memoryBytes: -1 };

test.each([
  ['memory grows', { memoryBytes: 200 }, held, { memoryBytes: 200 }, {}],
  ['memory shrinks', { memoryBytes: 50 }, held, {}, { memoryBytes: 100 }],
  ['memory gets a limit above what is used', { memoryBytes: 61 }, unlimited, { memoryBytes: 61 }, {}],
  ['memory gets a limit below what is used', { memoryBytes: 60 }, unlimited, {}, { memoryBytes: -1 }],
  ['CPU grows', { cpuQuotaUs: 30_000, cpuPeriodUs: 100_000 }, held, { cpuQuotaUs: 30_000, cpuPeriodUs: 100_000 }, {}],
  [
    'CPU shrinks',
    ...([
      { cpuQuotaUs: 10_000, cpuPeriodUs: 100_000 },
      held,
      {},
      { cpuQuotaUs: 20_000, cpuPeriodUs: 100_000 },
    ] as const),
  ],
  [
    'CPU shrinks by its period',
    { cpuQuotaUs: 20_000, cpuPeriodUs: 200_000 },
    held,
    {},
    { cpuQuotaUs: 20_000, cpuPeriodUs: 100_000 },
  ],
  ['CPU gets a limit', { cpuQuotaUs: 10_000 }, unlimited, { cpuQuotaUs: 10_000 }, {}],
  [
    'the new config has no limits',
    { memoryBytes: 0, cpuQuotaUs: -1, cpuShares: 2 },
    held,
    { memoryBytes: 0, cpuQuotaUs: -1, cpuShares: 2 },
    {},
  ],
  ['the current limits are unknown', { memoryBytes: 1 }, undefined, { memoryBytes: 1 }, {}],
])('growing sets the limits that do not shrink, and keeps those that would: %s', (_what, config, has, set, kept) => {
  expect(growing(config, has)).toEqual({ set, kept });
});

test('merging limits keeps the values that are not set', () => {
  const number = fc.option(fc.integer({ min: -1, max: 200 }), { nil: undefined });
  fc.assert(
    fc.property(number, number, (memoryBytes, cpuQuotaUs) => {
      const config = {
        ...(memoryBytes !== undefined && { memoryBytes }),
        ...(cpuQuotaUs !== undefined && { cpuQuotaUs }),
      };
      const { set, kept } = growing(config, held);
      expect(Object.keys(config).every((name) => name in set !== name in kept)).toBe(true);
    }),
  );
});
