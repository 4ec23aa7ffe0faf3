import { expect, test } from 'vitest';
import { GuardedFiles } from '../src/foreign/guarded-files.ts';

test.each([
  [{ deadlineMs: 0 }, 'deadlineMs must be above 0, not 0'],
  [{ maxAbandoned: -1 }, 'maxAbandoned must be a whole number of at least 0, not -1'],
  [{ maxCalls: 0 }, 'maxCalls must be a whole number of at least 1, not 0'],
  [{ maxCallsPerPlace: 1.5 }, 'maxCallsPerPlace must be a whole number of at least 1, not 1.5'],
])('guarded files refuse the options %j with an error that names the invalid option', (options, message) => {
  expect(() => new GuardedFiles({} as never, options)).toThrow(message);
});
