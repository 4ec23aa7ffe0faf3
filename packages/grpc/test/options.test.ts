import { expect, test } from 'vitest';
import { GrpcClient, GrpcServer } from '../src/index.ts';

test.each([
  [{ maxMessageBytes: 0 }, 'maxMessageBytes must be a whole number of at least 1, not 0'],
  [{ maxMessageBytes: 1.5 }, 'maxMessageBytes must be a whole number of at least 1, not 1.5'],
])('GrpcClient refuses the options %j with an error that names the invalid option', (options, message) => {
  expect(() => new GrpcClient({}, { socketPath: '/s', ...options })).toThrow(message);
});

test.each([
  [{ maxMessageBytes: 0 }, 'maxMessageBytes must be a whole number of at least 1, not 0'],
  [{ maxMessageBytes: 1.5 }, 'maxMessageBytes must be a whole number of at least 1, not 1.5'],
  [{ maxConnections: 0 }, 'maxConnections must be a whole number of at least 1, not 0'],
])('GrpcServer refuses the options %j with an error that names the invalid option', (options, message) => {
  expect(() => new GrpcServer({ socketPath: '/s', services: [], ...options })).toThrow(message);
});
