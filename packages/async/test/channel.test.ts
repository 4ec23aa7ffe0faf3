import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Channel, CoalescingQueue } from '../src/index.ts';

describe('Channel', () => {
  it('a channel delivers each value once, in order, whether its consumer comes before or after the values', async () => {
    const channel = new Channel<number>();
    channel.push(1);
    const seen: number[] = [];
    const consuming = (async () => {
      for await (const value of channel) seen.push(value);
    })();
    channel.push(2);
    await new Promise((resolve) => setImmediate(resolve));
    channel.push(3);
    channel.close();
    expect(channel.push(4)).toBe(false);
    await consuming;
    expect(seen).toEqual([1, 2, 3]);
  });

  it('a channel delivers undefined as a value', async () => {
    const channel = new Channel<undefined>();
    channel.push(undefined);
    channel.close();
    let count = 0;
    for await (const _ of channel) count++;
    expect(count).toBe(1);
  });

  it('the size of a channel is the number of values that were not taken, for any order of pushes and takes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(5), { maxLength: 60 }), async (pushes) => {
        const channel = new Channel<number>();
        let pushed = 0;
        let taken = 0;
        for (const count of pushes) {
          for (let n = 0; n < count; n++) channel.push(pushed++);
          if (channel.size > 0) expect(await channel.take()).toBe(taken++);
          expect(channel.size).toBe(pushed - taken);
        }
      }),
    );
  });

  it('a channel rejects a second consumer until the first has left its loop', async () => {
    const channel = new Channel<number>();
    channel.push(1);
    channel.push(2);
    for await (const value of channel) {
      expect(value).toBe(1);
      await expect(channel[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'Busy' });
      break;
    }
    expect(await channel.take()).toBe(2);
    const waiting = channel.take();
    await expect(channel.take()).rejects.toMatchObject({ code: 'Busy' });
    channel.close();
    expect(await waiting).toBeUndefined();
  });

  it('an aborted take stops waiting, loses no value and leaves no listener', async () => {
    const channel = new Channel<number>();
    const controller = new AbortController();
    const waiting = channel.take(controller.signal);
    controller.abort('enough');
    await expect(waiting).rejects.toBe('enough');
    channel.push(1);
    await expect(channel.take(controller.signal)).rejects.toBe('enough');
    expect(await channel.take()).toBe(1);
    const { signal } = new AbortController();
    channel.push(2);
    await channel.take(signal);
    expect([getEventListeners(controller.signal, 'abort').length, getEventListeners(signal, 'abort').length]).toEqual([
      0, 0,
    ]);
  });
});

describe('CoalescingQueue', () => {
  it('CoalescingQueue merges waiting values of one key, and keeps the order in which keys arrived', async () => {
    const queue = new CoalescingQueue<string, number>((waiting, next) => waiting + next);
    queue.push('a', 1);
    queue.push('b', 10);
    queue.push('a', 2);
    expect([queue.size, queue.peek('a')]).toEqual([2, 3]);
    expect(await queue.take()).toEqual(['a', 3]);
    queue.push('a', 4);
    expect(await queue.take()).toEqual(['b', 10]);
    expect(await queue.take()).toEqual(['a', 4]);
  });

  it('CoalescingQueue keeps the newer value of a key by default, even undefined', async () => {
    const queue = new CoalescingQueue<string, number | undefined>();
    queue.push('a', 1);
    queue.push('a', undefined);
    expect(await queue.take()).toEqual(['a', undefined]);
  });

  it('CoalescingQueue loses no value when it merges, and its length never exceeds the number of keys', async () => {
    const step = fc.oneof(fc.nat(4), fc.constant('take' as const));
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 100 }), async (steps) => {
        const queue = new CoalescingQueue<number, readonly number[]>((waiting, next) => [...waiting, ...next]);
        const taken: number[] = [];
        let pushed = 0;
        for (const one of steps) {
          if (one !== 'take') queue.push(one, [pushed++]);
          else if (queue.size > 0) taken.push(...((await queue.take())?.[1] ?? []));
          expect(queue.size).toBeLessThanOrEqual(5);
        }
        queue.close();
        for await (const [, values] of queue) taken.push(...values);
        expect(taken.sort((a, b) => a - b)).toEqual(Array.from({ length: pushed }, (_, index) => index));
      }),
    );
  });

  it('CoalescingQueue does not yield a deleted key, and accepts no value after close', async () => {
    const queue = new CoalescingQueue<string, number>();
    queue.push('a', 1);
    expect([queue.delete('a'), queue.delete('a')]).toEqual([true, false]);
    queue.close();
    expect(queue.push('a', 2)).toBe(false);
    expect(await queue.take()).toBeUndefined();
  });
});
