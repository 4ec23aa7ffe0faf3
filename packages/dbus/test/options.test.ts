import { expect, test } from 'vitest';
import { DbusConnection } from '../src/index.ts';

test.each([
  [{ userId: -1 }, 'userId must be a whole number of at least 0, not -1'],
  [{ timeoutMs: 0 }, 'timeoutMs must be above 0, not 0'],
])('a D-Bus connection refuses the options %j with an error that names the invalid option', (options, message) => {
  expect(() => new DbusConnection({ stream: { on: () => undefined } as never }, { userId: 0, ...options })).toThrow(
    message,
  );
});
