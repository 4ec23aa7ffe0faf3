import { silentLogger } from '@node-agent/telemetry';
import { expect, test } from 'vitest';
import { Reflector, RestClient, resources } from '../src/index.ts';

test.each([
  [{ timeoutMs: 0 }, 'timeoutMs must be above 0, not 0'],
  [{ maxRetries: -1 }, 'maxRetries must be a whole number of at least 0, not -1'],
  [{ maxResponseBytes: 0 }, 'maxResponseBytes must be a whole number of at least 1, not 0'],
])('RestClient rejects the options %j, and the error names the invalid one', (options, message) => {
  expect(() => new RestClient({} as never, options)).toThrow(message);
});

test.each([
  [{ minWatchTimeoutMs: 0 }, 'minWatchTimeoutMs must be above 0, not 0'],
  [{ backOffMs: -1 }, 'backOffMs must be at least 0, not -1'],
  [{ maxBackOffMs: -1 }, 'maxBackOffMs must be at least 0, not -1'],
  [{ idleTimeoutMs: 0 }, 'idleTimeoutMs must be above 0, not 0'],
])('Reflector rejects the options %j, and the error names the invalid one', (options, message) => {
  expect(() => new Reflector({ logger: silentLogger } as never, { resource: resources.pods, ...options })).toThrow(
    message,
  );
});
