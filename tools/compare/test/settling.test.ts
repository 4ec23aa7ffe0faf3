import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { settled } from '../src/settling.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const TIMES = { everyMs: 1_000, quietMs: 10_000, mostMs: 50_000 };
const signal = new AbortController().signal;

test.each<readonly [what: string, startedAt: (second: number) => number, endsAfter: number]>([
  ['all pods have started', () => 5, 0],
  ['the last pod starts after 5 s', (second) => Math.min(5, second), 5],
  ['one pod never starts', (second) => Math.min(4, second), 14],
  ['no pod starts', () => 0, 10],
  ['the count changes all the time', (second) => second % 2, 50],
])('settled ends its wait after the expected time if %s', async (_what, startedAt, endsAfter) => {
  const begin = performance.now();
  const seconds = () => (performance.now() - begin) / 1_000;
  const settling = settled(async () => startedAt(seconds()), 5, TIMES, signal).then(seconds);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await settling).toBe(endsAfter);
});
