import { describe, expect, it } from 'vitest';
import { encodePortions } from '../src/index.ts';
import { FakeClock } from '../src/testing.ts';

async function all(...args: Parameters<typeof encodePortions>): Promise<readonly Uint8Array[]> {
  const portions: Uint8Array[] = [];
  for await (const portion of encodePortions(...args)) portions.push(portion);
  return portions;
}

const lengths = async (texts: Iterable<string>): Promise<readonly number[]> =>
  (await all(texts, { clock: new FakeClock() })).map(({ length }) => length);

describe('encodePortions', () => {
  it('encodePortions keeps every byte of a text with characters of all lengths', async () => {
    const texts = Array.from({ length: 20_000 }, (_, index) => `${index} a\u00e4\u20ac\u{1f600}\n`);
    const portions = await all(texts, { clock: new FakeClock() });
    expect(portions.length).toBeGreaterThan(2);
    expect(Buffer.concat(portions).toString()).toBe(texts.join(''));
  });

  it('encodePortions completes a portion at 65,536 characters and yields no empty portion', async () => {
    expect(await lengths([])).toEqual([]);
    expect(await lengths([''])).toEqual([]);
    expect(await lengths(['a', 'b'])).toEqual([2]);
    const half = 'x'.repeat(32_768);
    expect(await lengths([half, half, half, 'y'.repeat(100_000), half])).toEqual([65_536, 132_768, 32_768]);
  });

  it('encodePortions makes at most 24 parts in one turn of the event loop if each takes half a millisecond', async () => {
    const clock = new FakeClock();
    const turns = new Map<number, number>();
    function* texts() {
      for (let index = 0; index < 100; index++) {
        clock.spend(0.5);
        turns.set(clock.firedTimers, (turns.get(clock.firedTimers) ?? 0) + 1);
        yield 'part';
      }
    }
    const portions = all(texts(), { clock });
    await clock.advance(1000);
    expect([...turns.values()]).toEqual([24, 24, 24, 24, 4]);
    expect((await portions).map(({ length }) => length)).toEqual([400]);
  });

  it('encodePortions stops with the reason of the signal, and closes its source', async () => {
    const clock = new FakeClock();
    const abort = new AbortController();
    let isClosed = false;
    function* texts() {
      try {
        for (;;) {
          clock.spend(1);
          yield 'part';
        }
      } finally {
        isClosed = true;
      }
    }
    const portions = all(texts(), { clock }, abort.signal);
    await clock.settle();
    abort.abort(new Error('the client disconnected'));
    await expect(portions).rejects.toThrow('the client disconnected');
    expect([isClosed, clock.pendingTimers]).toEqual([true, 0]);
  });
});
