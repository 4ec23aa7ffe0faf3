import { expect, test } from 'vitest';
import { ContainerLogManager } from '../src/index.ts';

test.each([
  [{ maxSizeBytes: 0.5 }, 'maxSizeBytes must be a whole number, not 0.5'],
  [{ maxFiles: 2.5 }, 'maxFiles must be a whole number of at least 1, not 2.5'],
  [{ workers: 1.5 }, 'workers must be a whole number of at least 1, not 1.5'],
  [{ workers: Number.NaN }, 'workers must be a whole number of at least 1, not NaN'],
])('ContainerLogManager rejects the options %j with an error that names the invalid option', (options, message) => {
  expect(() => new ContainerLogManager({} as never, options)).toThrow(
    expect.objectContaining({ code: 'InvalidOptions', message: expect.stringContaining(message) }),
  );
});
