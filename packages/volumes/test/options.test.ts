import { expect, test } from 'vitest';
import { CommandShell } from '../src/command-shell.ts';

test.each([
  [{ deadlineMs: 0 }, 'deadlineMs must be above 0, not 0'],
  [{ maxAbandoned: -1 }, 'maxAbandoned must be a whole number of at least 0, not -1'],
])('a shell refuses %j: it says which option makes no sense', (options, message) => {
  expect(() => new CommandShell({} as never, options)).toThrow(new RangeError(message));
});
