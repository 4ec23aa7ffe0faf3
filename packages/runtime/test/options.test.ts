import { expect, test } from 'vitest';
import { RestartBackOff } from '../src/backoff/backoff.ts';

test.each([
  [{ initialMs: -1 }, 'initialMs must be at least 0, not -1'],
  [{ maxMs: Number.NaN }, 'maxMs must be at least 0, not NaN'],
])('restarts are not held back by %j: it says which limit makes no sense', (limits, message) => {
  const make = () => new RestartBackOff({} as never, { initialMs: 1, maxMs: 2, ...limits });
  expect(make).toThrow(message);
});
