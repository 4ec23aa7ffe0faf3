import { expect, test } from 'vitest';
import { Correlator, defaultCorrelationLimits } from '../src/correlator.ts';
import { ApiEventRecorder } from '../src/index.ts';

test.each([
  [{ qps: -1 }, 'qps must be at least 0, not -1'],
  [{ burst: -1 }, 'burst must be at least 0, not -1'],
  [{ queueLimit: 0 }, 'queueLimit must be a whole number of at least 1, not 0'],
  [{ maxTries: 0 }, 'maxTries must be a whole number of at least 1, not 0'],
  [{ retryMs: 0 }, 'retryMs must be above 0, not 0'],
  [{ flushTimeoutMs: -1 }, 'flushTimeoutMs must be at least 0, not -1'],
])('a recorder refuses the options %j with an error that names the invalid option', (options, message) => {
  expect(() => new ApiEventRecorder({} as never, { host: 'n1', ...options })).toThrow(message);
});

test.each([
  [{ cacheSize: 0 }, 'cacheSize must be a whole number of at least 1, not 0'],
  [{ aggregateAfter: 0 }, 'aggregateAfter must be a whole number of at least 1, not 0'],
  [{ aggregateWithinMs: -1 }, 'aggregateWithinMs must be at least 0, not -1'],
  [{ spamBurst: -1 }, 'spamBurst must be at least 0, not -1'],
  [{ spamQps: -1 }, 'spamQps must be at least 0, not -1'],
])('a correlator refuses the options %j with an error that names the invalid option', (options, message) => {
  expect(() => new Correlator({ ...defaultCorrelationLimits, ...options })).toThrow(message);
});
