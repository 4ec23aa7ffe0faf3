import { FakeClock } from '@node-agent/async/testing';
import type { RuntimeContainerStatus } from '@node-agent/pod-spec';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RestartBackOff } from '../src/backoff/backoff.ts';
import { delayFromRuns, nextDelay, ranLongEnough } from '../src/backoff/backoff-delay.ts';
import { container, pod, record } from './builders.ts';

const limits = { initialMs: 10_000, maxMs: 300_000 };
const HOUR = 3_600_000;

/** An attempt that ended, after having run for so long. */
function run(attempt: number, ranMs = 1_000, extra: Partial<RuntimeContainerStatus> = {}): RuntimeContainerStatus {
  const startedAtMs = 1_000_000 + attempt * HOUR;
  return record('a', 'exited', {
    restartCount: attempt,
    createdAtMs: startedAtMs,
    startedAtMs,
    finishedAtMs: startedAtMs + ranMs,
    hash: 'h',
    ...extra,
  });
}

describe('C2: back-off delay', () => {
  test('doubles from 10 s to 300 s', () => {
    const delays = [0];
    for (let n = 0; n < 7; n++) delays.push(nextDelay(delays.at(-1) ?? 0, limits));
    expect(delays.slice(1)).toEqual([10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
  });

  test('starts at the maximum if that is less than 10 s', () => {
    expect(nextDelay(0, { initialMs: 10_000, maxMs: 1_000 })).toBe(1_000);
    expect(nextDelay(1_000, { initialMs: 10_000, maxMs: 1_000 })).toBe(1_000);
  });

  test.each([
    ['no record: at once', [], 0],
    ['the first death: at once', [run(0)], 0],
    ['the second one: 10 s', [run(1), run(0)], 10_000],
    ['only the newest record is left: the attempts before count as short', [run(3)], 40_000],
    ['a record is missing between two: it counts as short', [run(2), run(0)], 20_000],
    ['one is missing since a long run', [run(7), run(5, HOUR / 2)], 20_000],
    ['one is missing since another spec', [run(7), run(5, 1_000, { hash: 'old' })], 10_000],
    ['numbers that begin anew in a new sandbox: each record counts', [run(1), run(0), run(0)], 20_000],
    ['the maximum', [run(50)], 300_000],
    ['the newest ran for more than ten minutes: at once', [run(7, 600_001)], 0],
    ['ten minutes are not more than ten minutes', [run(1, 600_000)], 10_000],
    ['an earlier one ran long: what came before it does not count', [run(7), run(6), run(5, HOUR / 2)], 20_000],
    ['an earlier one was of another spec: neither does that', [run(7), run(6), run(5, 1_000, { hash: 'old' })], 10_000],
    ['the newest is of another spec: at once', [run(7, 1_000, { hash: 'old' })], 0],
    [
      'a runtime that tells no times counts as a short run',
      [run(1, 0, { createdAtMs: 0, startedAtMs: 0, finishedAtMs: 9 ** 12 })],
      10_000,
    ],
  ])('after a kubelet restart: %s', (_name, runs, delay) => {
    expect(delayFromRuns(runs, 'h', limits)).toBe(delay);
  });
});

/** Lets a container crash again and again and says how long each restart had to wait. */
async function crash(
  backOff: Pick<RestartBackOff, 'check' | 'started'>,
  clock: FakeClock,
  ranMs: readonly number[],
): Promise<number[]> {
  const a = container('a');
  const records: RuntimeContainerStatus[] = [];
  const waits: number[] = [];
  for (const [attempt, ms] of ranMs.entries()) {
    const startedAtMs = clock.now();
    await clock.advance(ms);
    const times = { createdAtMs: startedAtMs, startedAtMs, finishedAtMs: clock.now() };
    records.unshift(record('a', 'exited', { restartCount: attempt, ...times, hash: 'h' }));
    const held = backOff.check(pod(), a, 'h', records);
    const waitMs = held?.remainingMs ?? 0;
    waits.push(waitMs);
    await clock.advance(waitMs);
    expect(backOff.check(pod(), a, 'h', records)).toBeUndefined();
    backOff.started(pod(), a, 'h', records);
  }
  return waits;
}

describe('C2: back-off over time', () => {
  test('0, 10, 20, 40 s ...', async () => {
    const clock = new FakeClock();
    const waits = await crash(new RestartBackOff({ clock }, limits), clock, Array(8).fill(1_000));
    expect(waits).toEqual([0, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
  });

  test('is reset after more than ten minutes of running', async () => {
    const clock = new FakeClock();
    const waits = await crash(new RestartBackOff({ clock }, limits), clock, [1, 1, 1, 600_001, 1, 1]);
    expect(waits).toEqual([0, 10_000, 20_000, 0, 10_000, 20_000]);
  });

  test('has the same delays for a kubelet that restarts at any time', async () => {
    const ran = fc.array(fc.constantFrom(1, 1_000, 60_000, 599_000, 700_000), { minLength: 1, maxLength: 9 });
    await fc.assert(
      fc.asyncProperty(ran, async (ranMs) => {
        const lived = new FakeClock();
        const expected = await crash(new RestartBackOff({ clock: lived }, limits), lived, ranMs);
        const clock = new FakeClock();
        const forgetful = {
          check: (...args: Parameters<RestartBackOff['check']>) => new RestartBackOff({ clock }, limits).check(...args),
          started: () => {},
        };
        expect(await crash(forgetful, clock, ranMs)).toEqual(expected);
      }),
    );
  });

  test('counts a start that was not reported, by a killed kubelet or a call with a lost response', async () => {
    const clock = new FakeClock();
    const backOff = new RestartBackOff({ clock }, limits);
    const records: RuntimeContainerStatus[] = [];
    const delays: number[] = [];
    for (let attempt = 0; attempt < 5; attempt++) {
      const startedAtMs = clock.now();
      await clock.advance(1000);
      const times = { createdAtMs: startedAtMs, startedAtMs, finishedAtMs: clock.now() };
      records.unshift(record('a', 'exited', { restartCount: attempt, ...times, hash: 'h' }));
      const verdict = backOff.check(pod(), container('a'), 'h', records);
      expect(backOff.check(pod(), container('a'), 'h', records)).toEqual(verdict);
      delays.push(verdict?.delayMs ?? 0);
      if (attempt === 1) backOff.started(pod(), container('a'), 'h', records);
    }
    expect(delays).toEqual([0, 10_000, 20_000, 40_000, 80_000]);
    // A record that is collected brings an older death to light: nothing has started since.
    expect(backOff.check(pod(), container('a'), 'h', records.slice(1))?.delayMs).toBe(80_000);
  });

  test('is reset for another spec, and separate for another pod', async () => {
    const clock = new FakeClock();
    const backOff = new RestartBackOff({ clock }, limits);
    await crash(backOff, clock, [1, 1, 1]);
    const dead = [run(2, 1, { hash: 'h2', finishedAtMs: clock.now(), startedAtMs: clock.now() - 1, id: 'x' })];
    expect(backOff.check(pod(), container('a'), 'h', dead)).toBeDefined();
    expect(backOff.check(pod(), container('a'), 'h2', dead)).toBeUndefined();
    const first = [run(0, 1, { finishedAtMs: clock.now(), startedAtMs: clock.now() - 1 })];
    expect(backOff.check(pod({}, { uid: 'uid-2' }), container('a'), 'h', first)).toBeUndefined();
  });

  test.each([
    ['absent, then empty, as defaults write it', undefined, {}, true],
    ['absent, then with empty lists', undefined, { limits: {}, requests: {}, claims: [] }, true],
    [
      'the same in another order',
      { requests: { cpu: '1', memory: '1Gi' } },
      { requests: { memory: '1Gi', cpu: '1' } },
      true,
    ],
    ['other requests', { requests: { cpu: '1' } }, { requests: { cpu: '2' } }, false],
    ['requests that become limits', { requests: { cpu: '1' } }, { limits: { cpu: '1' } }, false],
  ])('resources: %s', async (_name, before, after, held) => {
    const clock = new FakeClock();
    const backOff = new RestartBackOff({ clock }, limits);
    const first = [run(0, 1, { startedAtMs: clock.now() - 1, finishedAtMs: clock.now() })];
    backOff.started(pod(), container('a', before && { resources: before }), 'h', first);
    const second = [run(1, 1, { startedAtMs: clock.now() - 1, finishedAtMs: clock.now() }), ...first];
    const verdict = backOff.check(pod(), container('a', { resources: after }), 'h', second);
    expect(verdict?.delayMs).toBe(held ? 10_000 : undefined);
  });

  test('does not wait for an hour if the wall clock is set back by an hour', async () => {
    const clock = new FakeClock();
    const backOff = new RestartBackOff({ clock }, limits);
    const dead = [run(1, 1, { startedAtMs: clock.now() - 1, finishedAtMs: clock.now() })];
    clock.jumpWallClock(-HOUR);
    expect(backOff.check(pod(), container('a'), 'h', dead)?.remainingMs).toBe(10_000);
    await clock.advance(10_000);
    expect(backOff.check(pod(), container('a'), 'h', dead)).toBeUndefined();
  });

  test('forgets a pod that is gone', async () => {
    const clock = new FakeClock();
    const backOff = new RestartBackOff({ clock }, limits);
    await crash(backOff, clock, [1, 1, 1]);
    const first = [run(0, 1, { startedAtMs: clock.now() - 1, finishedAtMs: clock.now() })];
    expect(backOff.check(pod(), container('a'), 'h', first)).toBeDefined();
    backOff.forget('uid-1');
    expect(backOff.check(pod(), container('a'), 'h', first)).toBeUndefined();
  });
});

test('a run without a known start does not count as long', () => {
  expect(ranLongEnough(run(0, 600_001))).toBe(true);
  expect(ranLongEnough(run(0, 0, { createdAtMs: 0, startedAtMs: 0, finishedAtMs: HOUR }))).toBe(false);
});
