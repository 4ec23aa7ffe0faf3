import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { every, sleep } from '../src/index.ts';
import { FakeClock } from '../src/testing.ts';

describe('every', () => {
  it('calls at once, then a period after the end of each round, so that rounds never overlap', async () => {
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

  it('waits a period first where it is not to begin at once, and adds jitter', async () => {
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

  it('ends after the round under way, and calls nothing where it is aborted from the start', async () => {
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

  it('ends with what a round throws, but not with the reason of the abort', async () => {
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
