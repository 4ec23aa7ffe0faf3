import { expect, test } from 'vitest';
import { checkLogOptions, type LogReadOptions } from '../src/log-options.ts';

const NOW = Date.UTC(2026, 0, 1, 0, 1);

test.each<[string, LogReadOptions, number | undefined]>([
  ['all lines by default', {}, undefined],
  ['lines of the last seconds', { sinceSeconds: 10 }, NOW - 10_000],
  ['lines from now on', { sinceSeconds: 0 }, NOW],
  ['lines since a time', { sinceTime: '2026-01-01T00:00:30Z' }, NOW - 30_000],
  [
    'lines since the later of sinceSeconds and sinceTime',
    { sinceSeconds: 40, sinceTime: '2026-01-01T00:00:30Z' },
    NOW - 30_000,
  ],
  [
    'lines of sinceSeconds, if sinceTime is earlier',
    { sinceSeconds: 5, sinceTime: '2026-01-01T00:00:30Z' },
    NOW - 5000,
  ],
  ['lines of any age with tailLines and limitBytes', { tailLines: 0, limitBytes: 0 }, undefined],
])('log options select %s', (_name, options, sinceMs) => {
  expect(checkLogOptions(options, NOW)).toBe(sinceMs);
});

test.each<[LogReadOptions, string]>([
  [{ tailLines: -1 }, 'tailLines: must be a whole number of at least 0, got -1'],
  [{ sinceSeconds: -1 }, 'sinceSeconds: must be a whole number of at least 0, got -1'],
  [{ limitBytes: 1.5 }, 'limitBytes: must be a whole number of at least 0, got 1.5'],
  [{ sinceTime: 'noon' }, 'sinceTime: must be an RFC 3339 time, got "noon"'],
])('log options refuse %j with an error that names the option', (options, message) => {
  const refusal = expect.objectContaining({ code: 'InvalidOptions', message: expect.stringContaining(message) });
  expect(() => checkLogOptions(options, NOW)).toThrow(refusal);
});
