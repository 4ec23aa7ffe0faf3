import { describe, expect, it } from 'vitest';
import { Backoff } from '../src/index.ts';
import { FakeClock } from '../src/testing.ts';

const SECOND = 1_000;
const options = { initialMs: 10 * SECOND, maxMs: 300 * SECOND };

describe('Backoff', () => {
  it('back-off doubles from its initial delay to its maximum', () => {
    const clock = new FakeClock();
    const backoff = new Backoff({ clock }, options);
    const delays = Array.from({ length: 7 }, () => {
      backoff.next('a', clock.now());
      return backoff.delayMs('a') / SECOND;
    });
    expect(delays).toEqual([10, 20, 40, 80, 160, 300, 300]);
    expect(backoff.delayMs('b')).toBe(0);
  });

  it("a back-off lasts one delay from the event's time, and remainingMs returns the rest of that delay", async () => {
    const clock = new FakeClock();
    const backoff = new Backoff({ clock }, options);
    const eventTimeMs = clock.now();
    expect(backoff.remainingMs('a', eventTimeMs)).toBe(0);
    backoff.next('a', eventTimeMs);
    await clock.advance(9_999);
    expect(backoff.remainingMs('a', eventTimeMs)).toBe(1);
    await clock.advance(1);
    expect(backoff.remainingMs('a', eventTimeMs)).toBe(0);
  });

  it.each([
    ['twice the maximum', {}, 600],
    ['expireAfterMs', { expireAfterMs: 30 * SECOND }, 30],
  ])(
    'C2: back-off restarts from the initial delay if the last failure is longer ago than %s',
    async (_, extra, seconds) => {
      const clock = new FakeClock();
      const backoff = new Backoff({ clock }, { ...options, ...extra });
      backoff.next('a', clock.now());
      backoff.next('a', clock.now());
      await clock.advance(seconds * SECOND);
      backoff.next('a', clock.now());
      expect(backoff.delayMs('a')).toBe(40 * SECOND);
      await clock.advance(seconds * SECOND + 1);
      expect(backoff.remainingMs('a', clock.now())).toBe(0);
      backoff.next('a', clock.now());
      expect(backoff.delayMs('a')).toBe(10 * SECOND);
    },
  );

  it('a back-off with jitter may exceed the initial delay but never the maximum', () => {
    const clock = new FakeClock();
    const random = { next: () => 0.5 };
    const backoff = new Backoff({ clock, random }, { initialMs: 10, maxMs: 45, maxJitterFactor: 0.2 });
    const delays = Array.from({ length: 4 }, () => {
      backoff.next('a', clock.now());
      return backoff.delayMs('a');
    });
    expect(delays).toEqual([11, 23.1, 45, 45]);
  });

  it('reset removes a back-off key immediately, and collectGarbage removes expired keys', async () => {
    const clock = new FakeClock();
    const backoff = new Backoff({ clock }, options);
    backoff.next('old', clock.now());
    await clock.advance(600 * SECOND);
    backoff.next('new', clock.now());
    backoff.next('gone', clock.now());
    backoff.reset('gone');
    backoff.collectGarbage();
    expect(backoff.size).toBe(2);
    await clock.advance(1);
    backoff.collectGarbage();
    expect([backoff.size, backoff.delayMs('new')]).toEqual([1, 10 * SECOND]);
  });

  it('C2: back-off continues from a delay that was observed before a restart', async () => {
    const clock = new FakeClock();
    const backoff = new Backoff({ clock }, options);
    backoff.restore('a', 40 * SECOND, clock.now());
    backoff.restore('b', 10_000 * SECOND, clock.now());
    expect(backoff.remainingMs('a', clock.now())).toBe(40 * SECOND);
    backoff.next('a', clock.now());
    expect([backoff.delayMs('a'), backoff.delayMs('b')]).toEqual([80 * SECOND, 300 * SECOND]);
  });
});
