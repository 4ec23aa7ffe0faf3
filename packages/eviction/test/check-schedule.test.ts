import { expect, test } from 'vitest';
import { type CheckSchedule, nextCheckInMs } from '../src/check-schedule.ts';
import { parseThresholds, type Threshold } from '../src/index.ts';

const [soft] = parseThresholds({
  evictionSoft: { 'memory.available': '100Mi' },
  evictionSoftGracePeriodMs: { 'memory.available': 5000 },
});
const [hard] = parseThresholds({ evictionHard: { 'memory.available': '100Mi' } });
const metSince = (threshold: Threshold | undefined, ms: number) =>
  new Map(threshold === undefined ? [] : [[threshold, ms]]);
const IDLE: CheckSchedule = {
  nowMs: 21_000,
  periodMs: 10_000,
  firstMetAt: new Map(),
  needsNewerStats: false,
  maxDelayMs: Number.POSITIVE_INFINITY,
};

test.each<[string, Partial<CheckSchedule>, number]>([
  ['the next period', {}, 9000],
  ['a full period, at the start of one', { nowMs: 20_000 }, 10_000],
  ['the end of a grace period', { firstMetAt: metSince(soft, 18_000) }, 2000],
  ['the next period, if a grace period ends later', { nowMs: 28_000, firstMetAt: metSince(soft, 28_000) }, 2000],
  ['the next period, if the grace period has ended', { firstMetAt: metSince(soft, 16_000) }, 9000],
  ['the next period, if a hard threshold is met', { firstMetAt: metSince(hard, 21_000) }, 9000],
  ['a second, if newer stats are needed', { needsNewerStats: true }, 1000],
  [
    'a second, if newer stats are needed, even if the maximum delay is shorter',
    { needsNewerStats: true, maxDelayMs: 500 },
    1000,
  ],
  ['the maximum delay', { maxDelayMs: 2000 }, 2000],
])('the next check is due after %s', (_name, facts, expected) => {
  expect(nextCheckInMs({ ...IDLE, ...facts })).toBe(expected);
});
