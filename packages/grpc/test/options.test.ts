import { expect, test } from 'vitest';
import { GrpcClient, GrpcServer } from '../src/index.ts';

test.each([
  [{ maxMessageBytes: 0 }, 'maxMessageBytes must be a whole number of at least 1, not 0'],
  [{ maxMessageBytes: 1.5 }, 'maxMessageBytes must be a whole number of at least 1, not 1.5'],
])('GrpcClient rejects the options %j: %s', (options, message) => {
  expect(() => new GrpcClient({}, { socketPath: '/s', ...options })).toThrow(message);
});

test.each([
  [{ maxMessageBytes: 0 }, 'maxMessageBytes must be a whole number of at least 1, not 0'],
  [{ maxMessageBytes: 1.5 }, 'maxMessageBytes must be a whole number of at least 1, not 1.5'],
  [{ maxConnections: 0 }, 'maxConnections must be a whole number of at least 1, not 0'],
])('GrpcServer rejects the options %j: %s', (options, message) => {
  expect(() => new GrpcServer({ socketPath: '/s', services: [], ...options })).toThrow(message);
});
