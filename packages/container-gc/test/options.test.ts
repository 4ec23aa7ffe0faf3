import { expect, test } from 'vitest';
import { ContainerGc } from '../src/index.ts';

test.each([
  [{ minAgeMs: -1 }, 'minAgeMs must be at least 0, not -1'],
  [{ maxPerPodContainer: 0.5 }, 'maxPerPodContainer must be a whole number, not 0.5'],
  [{ maxContainers: 0.5 }, 'maxContainers must be a whole number, not 0.5'],
])('ContainerGc rejects the options %j and names the invalid option', (options, message) => {
  expect(() => new ContainerGc({} as never, { policy: options })).toThrow(message);
});
