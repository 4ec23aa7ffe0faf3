import { expect, test } from 'vitest';
import { ObjectCache } from '../src/index.ts';

test.each([
  [{ syncFrequencyMs: 0 }, 'syncFrequencyMs must be above 0, not 0'],
  [{ syncFrequencyMs: Number.NaN }, 'syncFrequencyMs must be above 0, not NaN'],
])('the object cache refuses the options %j with an error that names the invalid option', (options, message) => {
  expect(() => new ObjectCache({} as never, options)).toThrow(message);
});
