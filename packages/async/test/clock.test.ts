import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { sleep, sleepUntilNext, systemClock, untilNextMs } from '../src/index.ts';
import { FakeClock } from '../src/testing.ts';

describe('sleep', () => {
  it('sleep ends when its time has passed, and leaves no timer and no listener', async () => {
    const clock = new FakeClock();
    const { signal } = new AbortController();
    const ends: number[] = [];
    const sleeping = sleep(clock, 100, signal).then(() => ends.push(clock.monotonic()));
    await clock.advance(99);
    expect(ends).toEqual([]);
    await clock.advance(1);
    await sleeping;
    expect(ends).toEqual([100]);
    expect([clock.pendingTimers, getEventListeners(signal, 'abort').length]).toEqual([0, 0]);
  });

  it("an aborted sleep rejects immediately with the signal's reason and cancels its timer", async () => {
    const clock = new FakeClock();
    const controller = new AbortController();
    const sleeping = sleep(clock, 100, controller.signal);
    controller.abort('enough');
    await expect(sleeping).rejects.toBe('enough');
    await expect(sleep(clock, 100, controller.signal)).rejects.toBe('enough');
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('sleepUntilNext', () => {
  it('sleepUntilNext ends at multiples of its period, whenever it was called', async () => {
    const clock = new FakeClock();
    const ends: [number, number][] = [];
    const { signal } = new AbortController();
    await clock.advance(300);
    const loop = async (periodMs: number): Promise<void> => {
      for (let round = 0; round < 3; round++) {
        await sleepUntilNext(clock, periodMs, signal);
        ends.push([periodMs, clock.monotonic()]);
      }
    };
    const loops = [loop(1000), loop(500)];
    await clock.advance(3000);
    await Promise.all(loops);
    expect(ends.filter(([periodMs]) => periodMs === 1000).map(([, atMs]) => atMs)).toEqual([1000, 2000, 3000]);
    expect(ends.filter(([periodMs]) => periodMs === 500).map(([, atMs]) => atMs)).toEqual([500, 1000, 1500]);
  });

  it('sleepUntilNext waits at most one period, or a few milliseconds more if a timer was early', () => {
    const period = fc.integer({ min: 1, max: 600_000 });
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e9, noNaN: true }), period, (nowMs, periodMs) => {
        const restMs = untilNextMs(nowMs, periodMs);
        expect(restMs).toBeGreaterThanOrEqual(Math.min(5, periodMs));
        expect(restMs).toBeLessThanOrEqual(periodMs + 5);
        const rounds = (nowMs + restMs) / periodMs;
        expect(Math.abs(rounds - Math.round(rounds))).toBeLessThan(1e-3);
      }),
    );
    expect([untilNextMs(999, 1000), untilNextMs(1000, 1000), untilNextMs(1001, 1000)]).toEqual([1001, 1000, 999]);
  });
});

describe('systemClock', () => {
  it('systemClock returns the time, and fires timers no earlier than requested', async () => {
    const before = systemClock.monotonic();
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1_000);
    await new Promise<void>((resolve) => void systemClock.setTimer(5, resolve));
    expect(systemClock.monotonic() - before).toBeGreaterThanOrEqual(4);
  });

  it('systemClock.now follows changes of the wall clock', () => {
    vi.spyOn(Date, 'now').mockReturnValue(42);
    try {
      expect(systemClock.now()).toBe(42);
    } finally {
      vi.restoreAllMocks();
    }
  });

  it('a timer without delay waits for the next turn of the event loop, not for a millisecond', async () => {
    let isOver = false;
    const limit = systemClock.setTimer(900, () => {
      isOver = true;
    });
    for (let turn = 0; turn < 1000; turn++) {
      await new Promise<void>((resolve) => void systemClock.setTimer(0, resolve));
    }
    limit.cancel();
    expect(isOver).toBe(false);
  });

  it('systemClock does not call back a cancelled timer', async () => {
    let called = false;
    const timer = systemClock.setTimer(0, () => {
      called = true;
    });
    timer.cancel();
    timer.cancel();
    await new Promise<void>((resolve) => void systemClock.setTimer(5, resolve));
    expect(called).toBe(false);
  });
});

describe('FakeClock', () => {
  it('FakeClock fires timers in order of time and creation, and settles promises between them', async () => {
    const clock = new FakeClock(1_000);
    const seen: string[] = [];
    clock.setTimer(20, () => seen.push('b'));
    clock.setTimer(20, () => seen.push('c'));
    clock.setTimer(10, () => {
      void Promise.resolve().then(() => seen.push('after a'));
      seen.push('a');
      clock.setTimer(5, () => seen.push('nested'));
    });
    await clock.advance(20);
    expect(seen).toEqual(['a', 'after a', 'nested', 'b', 'c']);
    expect(clock.now()).toBe(1_020);
    expect(await clock.advanceToNext()).toBe(false);
  });

  it('even the shortest timer delay advances the time of FakeClock', async () => {
    const clock = new FakeClock();
    await clock.advance(131_889.29);
    const before = clock.monotonic();
    clock.setTimer(1e-11, () => {});
    await clock.advanceToNext();
    expect(clock.monotonic()).toBeGreaterThan(before);
  });

  it('time that a test spends fires no timer, and is not taken back by the advance in which it is spent', async () => {
    const clock = new FakeClock();
    const fired: number[] = [];
    const working = (): void => {
      fired.push(clock.monotonic());
      clock.spend(50);
    };
    clock.setTimer(10, working);
    clock.setTimer(20, working);
    clock.spend(15);
    expect([clock.monotonic(), clock.firedTimers, fired, clock.nextTimerInMs]).toEqual([15, 0, [], 0]);
    for (const ms of [Number.NaN, -1])
      expect(() => clock.spend(ms)).toThrow('ms must be a number that is not negative');
    await clock.advance(10);
    expect([clock.monotonic(), clock.firedTimers, fired]).toEqual([115, 2, [15, 65]]);
  });

  it('a jump of FakeClock changes only the wall clock', async () => {
    const clock = new FakeClock(1_000);
    clock.setTimer(100, () => {});
    clock.jumpWallClock(-500);
    expect([clock.now(), clock.monotonic(), clock.nextTimerInMs]).toEqual([500, 0, 100]);
  });
});
