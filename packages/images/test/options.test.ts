import { expect, test } from 'vitest';
import { ImageManager, ImagePullRecords } from '../src/index.ts';

test.each([
  [{ maxParallel: 0 }, 'maxParallel must be a whole number of at least 1, not 0'],
  [{ qps: -1 }, 'qps must be at least 0, not -1'],
  [{ burst: -1 }, 'burst must be at least 0, not -1'],
  [{ initialBackOffMs: -1 }, 'initialBackOffMs must be at least 0, not -1'],
  [{ maxBackOffMs: -1 }, 'maxBackOffMs must be at least 0, not -1'],
])('ImageManager rejects the options %j with an error that names the invalid option', (options, message) => {
  expect(() => new ImageManager({} as never, options)).toThrow(message);
});

test.each([[{ prunePeriodMs: 0 }, 'prunePeriodMs must be above 0, not 0']])(
  'ImagePullRecords rejects the options %j with an error that names the invalid option',
  (options, message) => {
    expect(() => new ImagePullRecords({} as never, { rootDirectory: '/r', ...options })).toThrow(message);
  },
);
