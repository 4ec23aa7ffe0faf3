import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WorkQueue } from '../src/index.ts';
import { FakeClock } from '../src/testing.ts';

function consume(clock: FakeClock, queue: WorkQueue<string>): { seen: string[]; ended: Promise<void> } {
  const seen: string[] = [];
  const ended = (async () => {
    for await (const key of queue) seen.push(`${key}@${clock.monotonic()}`);
  })();
  return { seen, ended };
}

describe('WorkQueue', () => {
  it('WorkQueue yields each key when it is due, and keys due at the same time in order of insertion', async () => {
    const clock = new FakeClock();
    const queue = new WorkQueue<string>({ clock });
    const { seen, ended } = consume(clock, queue);
    queue.enqueue('late', 300);
    queue.enqueue('b', 100);
    queue.enqueue('c', 100);
    queue.enqueue('now', 0);
    queue.enqueue('past', -5);
    await clock.advance(99);
    expect(seen).toEqual(['now@0', 'past@0']);
    await clock.advance(201);
    expect(seen.slice(2)).toEqual(['b@100', 'c@100', 'late@300']);
    queue.close();
    await ended;
    expect(clock.pendingTimers).toBe(0);
  });

  it('enqueue moves a key to its newest due time, while enqueueNoLater moves a key only to an earlier due time', async () => {
    const clock = new FakeClock();
    const queue = new WorkQueue<string>({ clock });
    const { seen } = consume(clock, queue);
    queue.enqueue('a', 100);
    queue.enqueue('a', 200);
    queue.enqueueNoLater('a', 300);
    expect([queue.size, queue.dueInMs('a'), queue.dueInMs('x')]).toEqual([1, 200, undefined]);
    queue.enqueueNoLater('b', 50);
    queue.enqueueNoLater('b', 20);
    await clock.advance(1_000);
    expect(seen).toEqual(['b@20', 'a@200']);
    queue.close();
  });

  it('WorkQueue holds at most one timer, and none for keys that were deleted', async () => {
    const clock = new FakeClock();
    const queue = new WorkQueue<string>({ clock });
    for (let n = 0; n < 10; n++) queue.enqueue(`${n}`, 100 + n);
    expect(clock.pendingTimers).toBe(1);
    expect(clock.nextTimerInMs).toBe(100);
    expect([queue.delete('0'), queue.delete('0')]).toEqual([true, false]);
    expect(clock.nextTimerInMs).toBe(101);
    for (let n = 1; n < 10; n++) queue.delete(`${n}`);
    expect(clock.pendingTimers).toBe(0);
  });

  it('a closed WorkQueue yields the keys that are due, drops the others, and accepts no more', async () => {
    const clock = new FakeClock();
    const queue = new WorkQueue<string>({ clock });
    queue.enqueue('due', 0);
    queue.enqueue('later', 100);
    queue.close();
    queue.enqueue('too late', 0);
    const { seen, ended } = consume(clock, queue);
    await ended;
    expect(seen).toEqual(['due@0']);
    expect(clock.pendingTimers).toBe(0);
  });

  it('WorkQueue yields no key early if a timer fires too early', async () => {
    let nowMs = 0;
    const callbacks: (() => void)[] = [];
    const clock = {
      monotonic: () => nowMs,
      setTimer: (_: number, callback: () => void) => ({ cancel: () => {}, index: callbacks.push(callback) }),
    };
    const queue = new WorkQueue<string>({ clock });
    let taken: string | undefined;
    const taking = queue.take().then((key) => {
      taken = key;
    });
    queue.enqueue('a', 100);
    nowMs = 99.5;
    callbacks[0]?.();
    await Promise.resolve();
    expect([taken, callbacks.length]).toEqual([undefined, 2]);
    nowMs = 100;
    callbacks[1]?.();
    await taking;
    expect(taken).toBe('a');
  });

  it('for random operations, WorkQueue yields each key exactly when it is due and only once', async () => {
    const step = fc.record({ key: fc.constantFrom('a', 'b', 'c'), delayMs: fc.nat(50), advanceMs: fc.nat(30) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const clock = new FakeClock();
        const queue = new WorkQueue<string>({ clock });
        const dueMs = new Map<string, number>();
        const consuming = (async () => {
          for await (const key of queue) {
            expect(clock.monotonic()).toBe(dueMs.get(key));
            dueMs.delete(key);
          }
        })();
        for (const { key, delayMs, advanceMs } of steps) {
          dueMs.set(key, clock.monotonic() + delayMs);
          queue.enqueue(key, delayMs);
          await clock.advance(advanceMs);
        }
        await clock.advance(100);
        expect([...dueMs]).toEqual([]);
        queue.close();
        await consuming;
      }),
    );
  });
});
