import { expect, test } from 'vitest';
import { PodWorkers } from '../src/index.ts';

test.each([
  [{ resyncIntervalMs: 0 }, 'resyncIntervalMs must be above 0, not 0'],
  [{ backOffMs: -1 }, 'backOffMs must be at least 0, not -1'],
  [{ updateSpacingMs: -1 }, 'updateSpacingMs must be at least 0, not -1'],
])('PodWorkers rejects the options %j with an error that names the invalid option', (options, message) => {
  expect(() => new PodWorkers({} as never, options)).toThrow(message);
});
