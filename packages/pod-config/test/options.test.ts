import { expect, test } from 'vitest';
import { FileSource, HttpSource } from '../src/index.ts';

test.each([
  [{ periodMs: 0 }, 'periodMs must be above 0, not 0'],
  [{ settleMs: -1 }, 'settleMs must be at least 0, not -1'],
  [{ limitBytes: 0 }, 'limitBytes must be a whole number of at least 1, not 0'],
])('FileSource refuses the options %j with an error that names the invalid option', (options, message) => {
  expect(() => new FileSource({} as never, { path: '/m', nodeName: 'n1', ...options })).toThrow(message);
});

test.each([
  [{ periodMs: 0 }, 'periodMs must be above 0, not 0'],
  [{ timeoutMs: 0 }, 'timeoutMs must be above 0, not 0'],
  [{ limitBytes: 0 }, 'limitBytes must be a whole number of at least 1, not 0'],
])('HttpSource refuses the options %j with an error that names the invalid option', (options, message) => {
  expect(() => new HttpSource({} as never, { url: 'http://h/', nodeName: 'n1', ...options })).toThrow(message);
});
