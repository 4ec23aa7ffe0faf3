import { expect, test } from 'vitest';
import { PodCgroups } from '../src/index.ts';

test.each([
  [{ cpuCfsQuotaPeriodUs: 0 }, 'cpuCfsQuotaPeriodUs must be above 0, not 0'],
  [{ podPidsLimit: 0.5 }, 'podPidsLimit must be a whole number, not 0.5'],
])('the groups of pods refuses %j: it says which option makes no sense', (options, message) => {
  expect(() => new PodCgroups({} as never, options)).toThrow(new RangeError(message));
});
