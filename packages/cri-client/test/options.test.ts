import { expect, test } from 'vitest';
import { CriClient, watchContainerEvents } from '../src/index.ts';

test.each([
  [{ timeoutMs: 0 }, 'timeoutMs must be above 0, not 0'],
  [{ timeoutMs: Number.NaN }, 'timeoutMs must be above 0, not NaN'],
])('CriClient refuses the options %j with an error that names the invalid option', (options, message) => {
  expect(() => new CriClient({}, { endpoint: 'unix:///run/cri.sock', ...options })).toThrow(message);
});

test.each([
  [{ backOffMs: 0 }, 'backOffMs must be above 0, not 0'],
  [{ maxBackOffMs: -1 }, 'maxBackOffMs must be above 0, not -1'],
])(
  'watchContainerEvents refuses the options %j with an error that names the invalid option',
  async (options, message) => {
    const events = watchContainerEvents({} as never, options, new AbortController().signal);
    await expect(events.next()).rejects.toThrow(message);
  },
);
