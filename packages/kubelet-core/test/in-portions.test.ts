import { TimeSlice } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { describe, expect, it } from 'vitest';
import { inPortions } from '../src/sync/in-portions.ts';
import { makePod } from './fakes.ts';

/** Handles pods that take `podMs` each. @returns how many were handled in each turn of the event loop */
async function podsPerTurn(count: number, podMs: number): Promise<readonly number[]> {
  const clock = new FakeClock();
  const turns = new Map<number, number>();
  const pods = Array.from({ length: count }, (_, index) => makePod(`${index}`));
  const handled: string[] = [];
  const handle = (portion: typeof pods): void => {
    clock.spend(podMs * portion.length);
    turns.set(clock.firedTimers, (turns.get(clock.firedTimers) ?? 0) + portion.length);
    handled.push(...portion.map(({ metadata }) => metadata.name));
  };
  const done = inPortions(
    pods,
    (portion) => handle([...portion]),
    new TimeSlice({ clock }),
    new AbortController().signal,
  );
  while (handled.length < count) await clock.advance(1);
  await done;
  expect(handled).toEqual(pods.map(({ metadata }) => metadata.name));
  return [...turns.values()];
}

describe('inPortions', () => {
  it('K5: inPortions yields to the event loop after at most 12 of 1,000 pods if each takes 1 ms', async () => {
    expect(Math.max(...(await podsPerTurn(1000, 1)))).toBeLessThanOrEqual(12);
  });

  it('inPortions yields to the event loop after 4 pods if each takes 20 ms', async () => {
    expect(await podsPerTurn(10, 20)).toEqual([4, 4, 2]);
  });

  it('inPortions calls the handler once for an update without pods', async () => {
    const portions: number[] = [];
    const add = (portion: readonly unknown[]): void => void portions.push(portion.length);
    await inPortions([], add, new TimeSlice({ clock: new FakeClock() }), new AbortController().signal);
    expect(portions).toEqual([0]);
  });

  it('inPortions stops handling a list of pods between two portions when the signal is aborted', async () => {
    const clock = new FakeClock();
    const abort = new AbortController();
    let handled = 0;
    const pods = Array.from({ length: 20 }, (_, index) => makePod(`${index}`));
    const done = inPortions(
      pods,
      (portion) => {
        handled += portion.length;
        clock.spend(100);
      },
      new TimeSlice({ clock }),
      abort.signal,
    );
    while (handled === 0) await Promise.resolve();
    abort.abort(new Error('ending'));
    await expect(done).rejects.toThrow('ending');
    expect(handled).toBe(4);
  });
});
