import { expect, test } from 'vitest';
import { Backoff, every, LendingGate, TokenBucket } from '../src/index.ts';
import { FakeClock } from '../src/testing.ts';

test.each([
  [{ initialMs: -1 }, 'initialMs must be at least 0, not -1'],
  [{ maxMs: Number.NaN }, 'maxMs must be at least 0, not NaN'],
  [{ expireAfterMs: -1 }, 'expireAfterMs must be at least 0, not -1'],
  [{ maxJitterFactor: -1 }, 'maxJitterFactor must be at least 0, not -1'],
])('Backoff rejects the options %j with an error that names the invalid option', (options, message) => {
  expect(() => new Backoff({}, { initialMs: 1, maxMs: 2, ...options })).toThrow(message);
});

test.each([
  [{ concurrency: 0 }, 'concurrency must be a whole number of at least 1, not 0'],
  [{ overdueMs: 0 }, 'overdueMs must be above 0, not 0'],
  [{ maxOvertakes: -1 }, 'maxOvertakes must be at least 0, not -1'],
])('LendingGate rejects the options %j with an error that names the invalid option', (options, message) => {
  expect(() => new LendingGate({}, { concurrency: 1, overdueMs: 1, ...options })).toThrow(message);
});

test.each([
  [{ qps: '5' as never }, 'qps must be above 0, not 5'],
  [{ burst: '5' as never }, 'burst must be at least 1, not 5'],
  [{ burst: 0.5 }, 'burst must be at least 1, not 0.5'],
])('TokenBucket rejects the options %j with an error that names the invalid option', (rate, message) => {
  expect(() => new TokenBucket({}, { qps: 1, burst: 1, ...rate })).toThrow(message);
});

test.each([Number.NaN, '5' as never, undefined as never])('FakeClock.advance rejects %s as a duration', async (ms) => {
  const clock = new FakeClock();
  await expect(clock.advance(ms)).rejects.toThrow(`ms must be a number, not ${ms}`);
  expect(clock.monotonic()).toBe(0);
});

test.each([-1, Number.NaN])('every() rejects a period of %s', async (periodMs) => {
  const signal = new AbortController().signal;
  const running = every(new FakeClock(), periodMs, () => undefined, signal);
  await expect(running).rejects.toThrow(`periodMs must be at least 0, not ${periodMs}`);
});
