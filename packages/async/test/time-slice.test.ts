import { describe, expect, it } from 'vitest';
import { TimeSlice } from '../src/index.ts';
import { FakeClock } from '../src/testing.ts';

/**
 * Runs a loop over `count` items, each of which takes `itemMs`. Returns the number of items in each turn of the event
 * loop that has any.
 */
async function itemsPerTurn(count: number, itemMs: number): Promise<readonly number[]> {
  const clock = new FakeClock();
  const turns = new Map<number, number>();
  const slice = new TimeSlice({ clock });
  let done = 0;
  const work = (async () => {
    for (; done < count; done++) {
      clock.spend(itemMs);
      turns.set(clock.firedTimers, (turns.get(clock.firedTimers) ?? 0) + 1);
      if (slice.isDue()) await slice.pause();
    }
  })();
  while (done < count) await clock.advance(1);
  await work;
  return [...turns.values()];
}

describe('TimeSlice', () => {
  it('TimeSlice yields to the event loop after 10 ms of work', async () => {
    expect(await itemsPerTurn(100, 0.5)).toEqual([24, 24, 24, 24, 4]);
  });

  it('TimeSlice yields after 8 items if each takes longer than the slice', async () => {
    expect(await itemsPerTurn(20, 50)).toEqual([8, 8, 4]);
  });

  it('TimeSlice does not yield while the work takes no time', async () => {
    expect(await itemsPerTurn(1000, 0)).toEqual([1000]);
  });

  it('TimeSlice ends a pause when the signal is aborted', async () => {
    const clock = new FakeClock();
    const slice = new TimeSlice({ clock }, { sliceMs: 0 });
    const abort = new AbortController();
    const pause = slice.pause(abort.signal);
    abort.abort(new Error('ending'));
    await expect(pause).rejects.toThrow('ending');
    expect(clock.pendingTimers).toBe(0);
  });

  it('of several loops that use up their time slices, only one continues in each turn, in order of arrival', async () => {
    const clock = new FakeClock();
    const turns = new Map<number, string>();
    const loop = async (name: string): Promise<void> => {
      const slice = new TimeSlice({ clock }, { sliceMs: 0 });
      for (let round = 0; round < 3; round++) {
        await slice.pause();
        turns.set(clock.firedTimers, (turns.get(clock.firedTimers) ?? '') + name);
      }
    };
    const loops = Promise.all(['a', 'b', 'c'].map(loop));
    await clock.advance(0);
    await loops;
    expect([...turns.values()]).toEqual(['a', 'b', 'c', 'a', 'b', 'c', 'a', 'b', 'c']);
  });

  it('a loop that is aborted while it waits for its turn leaves the turn to the next loop', async () => {
    const clock = new FakeClock();
    const slices = [1, 2].map(() => new TimeSlice({ clock }, { sliceMs: 0 }));
    const abort = new AbortController();
    const pauses = slices.map((slice, index) => slice.pause(index === 0 ? abort.signal : undefined));
    abort.abort(new Error('ending'));
    await expect(pauses[0]).rejects.toThrow('ending');
    await clock.advance(0);
    await pauses[1];
    expect(clock.pendingTimers).toBe(0);
  });
});
