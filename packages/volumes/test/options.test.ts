import { expect, test } from 'vitest';
import { CommandShell } from '../src/mount/command-shell.ts';
import { projectionPlugins } from '../src/projected/projection-plugin.ts';
import { EmptyDirPlugin } from '../src/types/empty-dir.ts';

test.each([
  [{ deadlineMs: 0 }, 'deadlineMs must be above 0, not 0'],
  [{ maxAbandoned: -1 }, 'maxAbandoned must be a whole number of at least 0, not -1'],
])('CommandShell refuses the options %j and names the invalid one', (options, message) => {
  expect(() => new CommandShell({} as never, options)).toThrow(message);
});

test.each([Number.NaN, -1, undefined, '5'])(
  'refuses %s as the amount of memory that pods may use, which bounds tmpfs volumes',
  (bytes) => {
    const options = { allocatableMemoryBytes: bytes as number };
    const refusal = expect.objectContaining({ code: 'InvalidOptions', option: 'allocatableMemoryBytes' });
    expect(() => new EmptyDirPlugin({} as never, options)).toThrow(refusal);
    expect(() => projectionPlugins({ sources: {} } as never, options)).toThrow(refusal);
  },
);
