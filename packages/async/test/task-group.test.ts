import { expect, test } from 'vitest';
import { sleep, TaskGroup } from '../src/index.ts';
import { FakeClock } from '../src/testing.ts';

const forever = (clock: FakeClock, log: string[], name: string) => async (signal: AbortSignal) => {
  try {
    await sleep(clock, 1e9, signal);
  } finally {
    log.push(`${name} ended: ${String(signal.reason)}`);
  }
};

test('aborting the parent signal ends all tasks of a group without an error', async () => {
  const clock = new FakeClock();
  const log: string[] = [];
  const parent = new AbortController();
  const group = new TaskGroup(parent.signal);
  group.add(forever(clock, log, 'a'));
  group.add(forever(clock, log, 'b'));
  const ended = group.ended();
  await clock.settle();
  expect(log).toEqual([]);
  parent.abort('SIGTERM');
  await ended;
  expect(log).toEqual(['a ended: SIGTERM', 'b ended: SIGTERM']);
  expect(clock.pendingTimers).toBe(0);
});

test('the first task that fails aborts the others, and ended throws its error after all tasks have ended', async () => {
  const clock = new FakeClock();
  const log: string[] = [];
  const group = new TaskGroup(new AbortController().signal);
  group.add(forever(clock, log, 'a'));
  group.add(async (signal) => {
    await sleep(clock, 10, signal);
    throw new Error('port taken');
  });
  group.add(async (signal) => {
    await sleep(clock, 1e9, signal).catch(() => {});
    throw new Error('a consequence');
  });
  const ended = expect(group.ended()).rejects.toThrow('port taken');
  await clock.advance(10);
  await ended;
  expect(log).toEqual(['a ended: Error: port taken']);
  expect(clock.pendingTimers).toBe(0);
});

test('a task that completes does not affect other tasks of its group, and may add tasks', async () => {
  const clock = new FakeClock();
  const log: string[] = [];
  const parent = new AbortController();
  const group = new TaskGroup(parent.signal);
  group.add(async () => {
    group.add(forever(clock, log, 'late'));
  });
  const ended = group.ended();
  await clock.settle();
  expect(group.signal.aborted).toBe(false);
  parent.abort('end');
  await ended;
  expect(log).toEqual(['late ended: end']);
});

test('a task that is added after the end of its group gets an aborted signal', async () => {
  const parent = new AbortController();
  parent.abort('early');
  const group = new TaskGroup(parent.signal);
  const seen: boolean[] = [];
  group.add(async (signal) => {
    seen.push(signal.aborted);
    signal.throwIfAborted();
  });
  await group.ended();
  expect(seen).toEqual([true]);
});
