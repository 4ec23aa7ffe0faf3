import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FakeClock } from '../src/fake-clock.ts';
import { filledLevel, TokenBucket } from '../src/token-bucket.ts';

test('filledLevel adds tokens up to the burst, also to a negative level', () => {
  const rate = { qps: 2, burst: 3 };
  expect(filledLevel(undefined, rate, 7)).toEqual({ tokens: 3, atMs: 7 });
  expect(filledLevel({ tokens: -1, atMs: 0 }, rate, 1000)).toEqual({ tokens: 1, atMs: 1000 });
  expect(filledLevel({ tokens: 1, atMs: 0 }, rate, 60_000)).toEqual({ tokens: 3, atMs: 60_000 });
});

test('a token bucket grants tokens immediately up to the burst, and then one by one in the order of the requests', async () => {
  const clock = new FakeClock();
  const bucket = new TokenBucket({ clock }, { qps: 2, burst: 2 });
  const done: string[] = [];
  const all = [0, 1, 2, 3].map(async (i) => {
    await bucket.acquire();
    done.push(`${i} at ${clock.monotonic()}`);
  });
  await clock.settle();
  expect(bucket.tryAcquire()).toBe(false);
  await clock.advance(1000);
  await Promise.all(all);
  expect(done).toEqual(['0 at 0', '1 at 0', '2 at 500', '3 at 1000']);
});

test('an aborted wait for a token returns the reserved token and leaves no timer', async () => {
  const clock = new FakeClock();
  const bucket = new TokenBucket({ clock }, { qps: 1, burst: 1 });
  expect(bucket.tryAcquire()).toBe(true);
  const controller = new AbortController();
  const given = bucket.acquire(controller.signal).catch((error: unknown) => error);
  controller.abort(new Error('enough'));
  expect(await given).toMatchObject({ message: 'enough' });
  expect(await bucket.acquire(controller.signal).catch((error: unknown) => error)).toMatchObject({ message: 'enough' });
  expect(clock.pendingTimers).toBe(0);
  await clock.advance(1000);
  expect([bucket.tryAcquire(), bucket.tryAcquire()]).toEqual([true, false]);
});

test('TokenBucket rejects a rate that would never grant a token', () => {
  const clock = new FakeClock();
  expect(() => new TokenBucket({ clock }, { qps: 0, burst: 1 })).toThrow('qps must be above 0');
  expect(() => new TokenBucket({ clock }, { qps: 1, burst: 0 })).toThrow('burst must be at least 1');
});

test('a token bucket never grants more tokens than its burst plus the tokens that accrued since its creation', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 1, max: 10 }),
      fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 40 }),
      async (qps, burst, pauses) => {
        const clock = new FakeClock();
        const bucket = new TokenBucket({ clock }, { qps, burst });
        let given = 0;
        for (const pauseMs of pauses) {
          await clock.advance(pauseMs);
          while (bucket.tryAcquire()) given++;
          expect(given).toBeLessThanOrEqual(burst + (clock.monotonic() * qps) / 1000 + 1e-6);
        }
      },
    ),
  );
});
