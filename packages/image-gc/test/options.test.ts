import { expect, test } from 'vitest';
import { ImageGc } from '../src/index.ts';

test.each([
  [{ observePeriodMs: 0 }, 'observePeriodMs must be above 0, not 0'],
  [{ observePeriodMs: Number.NaN }, 'observePeriodMs must be above 0, not NaN'],
])('ImageGc rejects the options %j with an error that names the invalid option', (options, message) => {
  expect(() => new ImageGc({} as never, options)).toThrow(
    expect.objectContaining({ code: 'InvalidOptions', message: expect.stringContaining(message) }),
  );
});
