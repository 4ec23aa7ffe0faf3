import { FakeClock } from '@node-agent/async/testing';
import { describe, expect, test } from 'vitest';
import { CleanUpTurns } from '../src/pods/clean-up-turns.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Starts 20 clean-ups that end when the test says so. */
function setUp() {
  const clock = new FakeClock();
  const turns = new CleanUpTurns(clock);
  const stopping = new AbortController();
  const started: number[] = [];
  const ends: (() => void)[] = [];
  const runs = Array.from({ length: 20 }, (_, index) =>
    turns.run(() => {
      started.push(index);
      return new Promise<void>((resolve) => {
        ends[index] = resolve;
      });
    }, stopping.signal),
  );
  return { clock, turns, stopping, started, ends, runs };
}

describe('clean-ups of finished pods', () => {
  test('K5: at most eight run at the same time, in order', async () => {
    const { started, ends } = setUp();
    await turn();
    expect(started).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    ends[3]?.();
    ends[5]?.();
    await turn();
    expect(started.slice(8)).toEqual([8, 9]);
  });

  test('W6: clean-ups that hang for a second do not delay the next ones, and free no place twice', async () => {
    const { clock, started, ends } = setUp();
    await turn();
    await clock.advance(1_000);
    await turn();
    expect(started).toHaveLength(16);
    // The first eight have given up their places already.
    for (const end of ends.slice(0, 8)) end?.();
    await turn();
    expect(started).toHaveLength(16);
  });

  test('a clean-up that is aborted while it waits does not start, and the error of a clean-up is passed on', async () => {
    const { clock, turns, stopping, started, runs } = setUp();
    const ended = Promise.allSettled(runs.slice(8));
    await turn();
    stopping.abort(new Error('stop'));
    expect((await ended).every(({ status }) => status === 'rejected')).toBe(true);
    expect(started).toHaveLength(8);
    await clock.advance(1_000);
    const failed = turns.run(() => Promise.reject(new Error('EIO')), new AbortController().signal);
    await expect(failed).rejects.toThrow('EIO');
  });
});
