import { expect, test } from 'vitest';
import { Pleg } from '../src/index.ts';

test.each([
  [{ relistThresholdMs: 0 }, 'relistThresholdMs must be above 0, not 0'],
  [{ settleMs: -1 }, 'settleMs must be at least 0, not -1'],
  [{ maxConcurrentReads: 0 }, 'maxConcurrentReads must be a whole number of at least 1, not 0'],
])('PLEG rejects the options %j: %s', (options, message) => {
  expect(() => new Pleg({} as never, options)).toThrow(
    expect.objectContaining({ code: 'InvalidOptions', message: expect.stringContaining(message) }),
  );
});
