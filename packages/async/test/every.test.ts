import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { every, sleep } from '../src/index.ts';
import { FakeClock } from '../src/testing.ts';

describe('every', () => {
  it('every calls its callback immediately, and then one period after the end of each call, so that calls never overlap', async () => {
    const clock = new FakeClock();
    const controller = new AbortController();
    const starts: number[] = [];
    const running = every(
      clock,
      100,
      async () => {
        starts.push(clock.monotonic());
        await sleep(clock, 30);
      },
      controller.signal,
    );
    await clock.advance(300);
    expect(starts).toEqual([0, 130, 260]);
    controller.abort();
    await clock.advance(100);
    await running;
    expect([clock.pendingTimers, getEventListeners(controller.signal, 'abort').length]).toEqual([0, 0]);
  });

  it('every waits one period before its first call if requested, and adds jitter', async () => {
    const clock = new FakeClock();
    const controller = new AbortController();
    const starts: number[] = [];
    const options = { immediate: false, jitter: { random: { next: () => 0.5 }, maxFactor: 0.2 } };
    const running = every(clock, 100, () => void starts.push(clock.monotonic()), controller.signal, options);
    await clock.advance(250);
    expect(starts).toEqual([110, 220]);
    controller.abort();
    await running;
  });

  it('every ends after the call in progress, and makes no call if the signal is already aborted', async () => {
    const clock = new FakeClock();
    const controller = new AbortController();
    let ended = 0;
    const running = every(
      clock,
      100,
      async () => {
        await sleep(clock, 30);
        ended++;
      },
      controller.signal,
    );
    await clock.advance(10);
    controller.abort();
    await clock.advance(20);
    await running;
    expect(ended).toBe(1);
    await every(clock, 100, () => void ended++, AbortSignal.abort());
    expect(ended).toBe(1);
  });

  it('every throws an error of its callback, but not the reason of the abort', async () => {
    const clock = new FakeClock();
    const failing = every(
      clock,
      100,
      () => {
        throw new Error('broken');
      },
      new AbortController().signal,
    );
    await expect(failing).rejects.toThrow('broken');
    const controller = new AbortController();
    const running = every(clock, 100, (signal) => sleep(clock, 1_000, signal), controller.signal);
    await clock.settle();
    controller.abort(new Error('the end'));
    await running;
    expect(clock.pendingTimers).toBe(0);
  });
});
