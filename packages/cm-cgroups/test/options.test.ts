import { expect, test } from 'vitest';
import { DbusSystemd, PodCgroups } from '../src/index.ts';

test.each([
  [{ cpuCfsQuotaPeriodUs: 0 }, 'cpuCfsQuotaPeriodUs must be above 0, not 0'],
  [{ podPidsLimit: 0.5 }, 'podPidsLimit must be a whole number, not 0.5'],
  [{ memoryQos: 'x' as never }, 'memoryQos must be None or TieredReservation, not x'],
  [
    { qosReserved: { memoryPercent: 500, allocatableBytes: 1n } },
    'qosReserved.memoryPercent must be a whole number from 0 to 100, not 500',
  ],
  [
    { qosReserved: { memoryPercent: 0.5, allocatableBytes: 1n } },
    'qosReserved.memoryPercent must be a whole number from 0 to 100, not 0.5',
  ],
  [
    { qosReserved: { memoryPercent: 50, allocatableBytes: 1 as never } },
    'qosReserved.allocatableBytes must be a bigint of at least 0, not 1',
  ],
])('pod cgroups refuse the options %o and name the invalid one', (options, message) => {
  expect(() => new PodCgroups({ open: () => undefined as never }, options)).toThrow(message);
});

test.each([
  [{ userId: 0, timeoutMs: -1 }, 'timeoutMs must be above 0, not -1'],
  [{ userId: 0, timeoutMs: Number.NaN }, 'timeoutMs must be above 0, not NaN'],
  [{ userId: Number.NaN }, 'userId must be a whole number of at least 0, not NaN'],
])('systemd over D-Bus refuses the options %o and names the invalid one', (options, message) => {
  expect(() => new DbusSystemd({ connect: () => undefined as never }, options)).toThrow(message);
});
