import { FakeClock } from '@node-agent/async/testing';
import { describe, expect, test } from 'vitest';
import { Deadlines } from '../src/deadlines.ts';

function deadlines() {
  const clock = new FakeClock();
  const due: string[] = [];
  const all = new Deadlines<string>(clock, (item) => due.push(item));
  const set = (item: string, timeoutMs: number): void => all.set(item, timeoutMs, clock.monotonic());
  return { clock, due, all, set };
}

describe('Deadlines', () => {
  test('R3: Deadlines calls back for each item after its timeout, with one timer per timeout length', async () => {
    const { clock, due, set } = deadlines();
    set('a', 1000);
    set('b', 1000);
    await clock.advance(300);
    set('c', 1000);
    set('d', 500);
    expect(clock.pendingTimers).toBe(2);
    await clock.advance(500);
    expect(due).toEqual(['d']);
    await clock.advance(199);
    expect(due).toEqual(['d']);
    await clock.advance(1);
    expect(due).toEqual(['d', 'a', 'b']);
    await clock.advance(299);
    expect(due).toEqual(['d', 'a', 'b']);
    await clock.advance(1);
    expect(due).toEqual(['d', 'a', 'b', 'c']);
    expect(clock.pendingTimers).toBe(0);
  });

  test('Deadlines does not call back for deleted items, and leaves no timer', async () => {
    const { clock, due, all, set } = deadlines();
    set('a', 1000);
    set('b', 1000);
    all.delete('a', 1000);
    all.delete('a', 1000);
    all.delete('a', 7);
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(1000);
    expect(due).toEqual(['b']);
    set('c', 1000);
    all.delete('c', 1000);
    expect(clock.pendingTimers).toBe(0);
    await clock.advance(5000);
    expect(due).toEqual(['b']);
  });

  test('Deadlines calls back for the first item even if the timer fires early', () => {
    const timers: (() => void)[] = [];
    const setTimer = (_: number, callback: () => void) => ({ cancel: () => {}, at: timers.push(callback) });
    const due: string[] = [];
    const all = new Deadlines<string>({ monotonic: () => 999.5, setTimer }, (item) => due.push(item));
    all.set('a', 1000, 0);
    all.set('b', 1000, 0.1);
    timers[0]?.();
    expect(due).toEqual(['a']);
    expect(timers).toHaveLength(2);
    timers[1]?.();
    expect(due).toEqual(['a', 'b']);
  });
});
