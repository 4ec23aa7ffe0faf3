import { expect, test } from 'vitest';
import { RestartBackOff } from '../src/backoff/backoff.ts';

test.each([
  [{ initialMs: -1 }, 'initialMs must be at least 0, not -1'],
  [{ maxMs: Number.NaN }, 'maxMs must be at least 0, not NaN'],
])('RestartBackOff rejects the options %j with an error that names the invalid limit', (limits, message) => {
  const make = () => new RestartBackOff({} as never, { initialMs: 1, maxMs: 2, ...limits });
  expect(make).toThrow(message);
});
