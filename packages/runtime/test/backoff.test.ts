import { FakeClock } from '@node-agent/async/testing';
import type { RuntimeContainerStatus } from '@node-agent/pod-spec';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RestartBackOff } from '../src/backoff/backoff.ts';
import { delayFromRuns, nextDelay, ranLongEnough } from '../src/backoff/backoff-delay.ts';
import { container, pod, record } from './builders.ts';

const limits = { initialMs: 10_000, maxMs: 300_000 };
const HOUR = 3_600_000;

/** Returns the record of a terminated container that had run for `ranMs`. */
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
  test('C2: the restart back-off doubles from 10 s to 300 s', () => {
    const delays = [0];
    for (let n = 0; n < 7; n++) delays.push(nextDelay(delays.at(-1) ?? 0, limits));
    expect(delays.slice(1)).toEqual([10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
  });

  test('C2: the restart back-off starts at its maximum if that is less than 10 s', () => {
    expect(nextDelay(0, { initialMs: 10_000, maxMs: 1_000 })).toBe(1_000);
    expect(nextDelay(1_000, { initialMs: 10_000, maxMs: 1_000 })).toBe(1_000);
  });

  test.each([
    ['no record: none', [], 0],
    ['one exit: none', [run(0)], 0],
    ['two exits: 10 s', [run(1), run(0)], 10_000],
    ['only the newest record is left: earlier attempts count as short', [run(3)], 40_000],
    ['a record between two others is missing: it counts as short', [run(2), run(0)], 20_000],
    ['a record after a long run is missing', [run(7), run(5, HOUR / 2)], 20_000],
    ['a record after another spec is missing', [run(7), run(5, 1_000, { hash: 'old' })], 10_000],
    ['attempt numbers restart in a new sandbox: each record counts', [run(1), run(0), run(0)], 20_000],
    ['the maximum', [run(50)], 300_000],
    ['the newest attempt ran for more than ten minutes: none', [run(7, 600_001)], 0],
    ['the newest attempt ran for exactly ten minutes: 10 s', [run(1, 600_000)], 10_000],
    ['an earlier attempt ran long: attempts before it do not count', [run(7), run(6), run(5, HOUR / 2)], 20_000],
    [
      'an earlier attempt had another spec: attempts before it do not count',
      [run(7), run(6), run(5, 1_000, { hash: 'old' })],
      10_000,
    ],
    ['the newest attempt had another spec: none', [run(7, 1_000, { hash: 'old' })], 0],
    [
      'an attempt without times counts as short',
      [run(1, 0, { createdAtMs: 0, startedAtMs: 0, finishedAtMs: 9 ** 12 })],
      10_000,
    ],
  ])(
    'C2: a restarted kubelet computes the back-off of a container from its records in the runtime: %s',
    (_name, runs, delay) => {
      expect(delayFromRuns(runs, 'h', limits)).toBe(delay);
    },
  );
});

/** Lets a container crash repeatedly, and returns the delay of each restart. */
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

describe('C2: restart back-off of a crashing container', () => {
  test('C2: a crashing container restarts after 0, 10, 20, 40 s and so on', async () => {
    const clock = new FakeClock();
    const waits = await crash(new RestartBackOff({ clock }, limits), clock, Array(8).fill(1_000));
    expect(waits).toEqual([0, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
  });

  test('C2: the restart back-off is reset after more than ten minutes of running', async () => {
    const clock = new FakeClock();
    const waits = await crash(new RestartBackOff({ clock }, limits), clock, [1, 1, 1, 600_001, 1, 1]);
    expect(waits).toEqual([0, 10_000, 20_000, 0, 10_000, 20_000]);
  });

  test('C2: the restart back-off is the same if the kubelet restarts at any time', async () => {
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

  test('C2: the restart back-off counts a start that a killed kubelet or a call with a lost response did not report', async () => {
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
    // After a record is removed, an older termination is the newest one. The back-off stays, because no container has
    // started since.
    expect(backOff.check(pod(), container('a'), 'h', records.slice(1))?.delayMs).toBe(80_000);
  });

  test('C2: the restart back-off is reset for another spec, and separate for another pod', async () => {
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
    ['absent, then empty', undefined, {}, true],
    ['absent, then with empty lists', undefined, { limits: {}, requests: {}, claims: [] }, true],
    [
      'the same in another order',
      { requests: { cpu: '1', memory: '1Gi' } },
      { requests: { memory: '1Gi', cpu: '1' } },
      true,
    ],
    [
      'the same amounts in another notation',
      { limits: { cpu: '1000m', memory: '1Ki' } },
      { limits: { cpu: '1', memory: '1024' } },
      true,
    ],
    ['other requests', { requests: { cpu: '1' } }, { requests: { cpu: '2' } }, false],
    ['requests that become limits', { requests: { cpu: '1' } }, { limits: { cpu: '1' } }, false],
  ])(
    'C2: a crashing container keeps its restart back-off ($3) if its resources change: %s',
    async (_name, before, after, held) => {
      const clock = new FakeClock();
      const backOff = new RestartBackOff({ clock }, limits);
      const first = [run(0, 1, { startedAtMs: clock.now() - 1, finishedAtMs: clock.now() })];
      backOff.started(pod(), container('a', before && { resources: before }), 'h', first);
      const second = [run(1, 1, { startedAtMs: clock.now() - 1, finishedAtMs: clock.now() }), ...first];
      const verdict = backOff.check(pod(), container('a', { resources: after }), 'h', second);
      expect(verdict?.delayMs).toBe(held ? 10_000 : undefined);
    },
  );

  test('the restart back-off does not last an hour longer if the wall clock is set back by an hour', async () => {
    const clock = new FakeClock();
    const backOff = new RestartBackOff({ clock }, limits);
    const dead = [run(1, 1, { startedAtMs: clock.now() - 1, finishedAtMs: clock.now() })];
    clock.jumpWallClock(-HOUR);
    expect(backOff.check(pod(), container('a'), 'h', dead)?.remainingMs).toBe(10_000);
    await clock.advance(10_000);
    expect(backOff.check(pod(), container('a'), 'h', dead)).toBeUndefined();
  });

  test('the restart back-off of a removed pod is forgotten', async () => {
    const clock = new FakeClock();
    const backOff = new RestartBackOff({ clock }, limits);
    await crash(backOff, clock, [1, 1, 1]);
    const first = [run(0, 1, { startedAtMs: clock.now() - 1, finishedAtMs: clock.now() })];
    expect(backOff.check(pod(), container('a'), 'h', first)).toBeDefined();
    backOff.forget('uid-1');
    expect(backOff.check(pod(), container('a'), 'h', first)).toBeUndefined();
  });
});

test('a run without a known start time does not reset the back-off as a run of ten minutes does', () => {
  expect(ranLongEnough(run(0, 600_001))).toBe(true);
  expect(ranLongEnough(run(0, 0, { createdAtMs: 0, startedAtMs: 0, finishedAtMs: HOUR }))).toBe(false);
});
