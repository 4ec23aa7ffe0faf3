import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeyedMutex, Semaphore, seededRandom, sleep } from '../src/index.ts';
import { FakeClock } from '../src/testing.ts';

describe('Semaphore', () => {
  it('a semaphore runs all tasks in order of arrival, and never more than its limit at a time', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.nat(), async (limit, seed) => {
        const clock = new FakeClock();
        const random = seededRandom(seed);
        const semaphore = new Semaphore(limit);
        const started: number[] = [];
        const tasks = Array.from({ length: 12 }, (_, index) =>
          semaphore.run(async () => {
            started.push(index);
            expect(semaphore.active).toBeLessThanOrEqual(limit);
            await sleep(clock, random.next() * 100);
          }),
        );
        await clock.advance(1_300);
        await Promise.all(tasks);
        expect(started).toEqual(started.toSorted((a, b) => a - b));
        expect([started.length, semaphore.active, semaphore.waiting]).toEqual([12, 0, 0]);
      }),
      { numRuns: 50 },
    );
  });

  it('a semaphore releases the permit of a task that throws', async () => {
    const semaphore = new Semaphore(1);
    await expect(semaphore.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await semaphore.run(async () => 'next')).toBe('next');
  });

  it('a task that is aborted while it waits for a semaphore leaves the queue, and no listener remains', async () => {
    const semaphore = new Semaphore(1);
    const controller = new AbortController();
    const first = await semaphore.acquire(controller.signal);
    const second = semaphore.acquire(controller.signal);
    const third = semaphore.acquire();
    controller.abort('enough');
    await expect(second).rejects.toBe('enough');
    await expect(semaphore.acquire(controller.signal)).rejects.toBe('enough');
    first[Symbol.dispose]();
    (await third)[Symbol.dispose]();
    expect([semaphore.active, semaphore.waiting]).toEqual([0, 0]);
    expect(getEventListeners(controller.signal, 'abort').length).toBe(0);
  });

  it('a semaphore loses no permit if a waiting task gets its permit and is aborted at the same time', async () => {
    const semaphore = new Semaphore(1);
    const controller = new AbortController();
    const first = await semaphore.acquire();
    const second = semaphore.acquire(controller.signal);
    first[Symbol.dispose]();
    controller.abort();
    (await second)[Symbol.dispose]();
    expect(semaphore.active).toBe(0);
  });

  it('a semaphore releases a permit only once, even if the permit is disposed twice', async () => {
    const semaphore = new Semaphore(2);
    const permit = await semaphore.acquire();
    permit[Symbol.dispose]();
    permit[Symbol.dispose]();
    expect(semaphore.active).toBe(0);
    expect(() => new Semaphore(0)).toThrow(RangeError);
    expect(() => new Semaphore(Number.NaN)).toThrow(RangeError);
    const message = 'Semaphore: limit must be a whole number of at least 1, not 1.5';
    expect(() => new Semaphore(1.5)).toThrow(message);
    expect(() => new Semaphore('2' as never)).toThrow(RangeError);
    expect(new Semaphore(Number.POSITIVE_INFINITY).limit).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('KeyedMutex', () => {
  it('KeyedMutex runs tasks of one key in order, and tasks of other keys at the same time', async () => {
    const clock = new FakeClock();
    const mutex = new KeyedMutex<string>();
    const seen: string[] = [];
    const task = (name: string, ms: number) => async (): Promise<void> => {
      await sleep(clock, ms);
      seen.push(`${name}@${clock.monotonic()}`);
    };
    const all = Promise.all([
      mutex.run('a', task('a1', 100)),
      mutex.run('a', task('a2', 10)),
      mutex.run('b', task('b1', 50)),
    ]);
    await clock.advance(200);
    await all;
    expect(seen).toEqual(['b1@50', 'a1@100', 'a2@110']);
    expect(mutex.size).toBe(0);
  });

  it('KeyedMutex keeps no key after its tasks failed or were aborted', async () => {
    const mutex = new KeyedMutex<string>();
    const controller = new AbortController();
    const { promise, resolve } = Promise.withResolvers<void>();
    const first = mutex.run('a', () => promise);
    const second = mutex.run('a', async () => {}, controller.signal);
    controller.abort('enough');
    await expect(second).rejects.toBe('enough');
    expect(mutex.size).toBe(1);
    resolve();
    await first;
    await expect(mutex.run('b', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(mutex.size).toBe(0);
  });
});
