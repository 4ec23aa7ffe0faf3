import { expect, test } from 'vitest';
import { StatusWriter } from '../src/index.ts';

test.each([
  [{ syncPeriodMs: 0 }, 'syncPeriodMs must be above 0, not 0'],
  [{ concurrency: 0 }, 'concurrency must be a whole number of at least 1, not 0'],
  [{ initialBackOffMs: -1 }, 'initialBackOffMs must be at least 0, not -1'],
  [{ maxBackOffMs: -1 }, 'maxBackOffMs must be at least 0, not -1'],
  [{ recheckMs: 0 }, 'recheckMs must be above 0, not 0'],
])('StatusWriter rejects the options %j with an error that names the invalid option', (options, message) => {
  expect(() => new StatusWriter({} as never, options)).toThrow(message);
});
