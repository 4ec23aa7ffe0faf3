import { FakeClock } from '@node-agent/async/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Timetable } from '../src/timetable.ts';

describe('Timetable', () => {
  test('Timetable uses one timer for any number of items', async () => {
    const clock = new FakeClock();
    const seen: number[] = [];
    const table = new Timetable<number>(clock, (item) => seen.push(item));
    for (let item = 0; item < 1000; item++) table.set(item, (item * 7919) % 1000);
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(1000);
    expect(seen).toHaveLength(1000);
    expect([clock.pendingTimers, table.size]).toEqual([0, 0]);
  });

  test('Timetable does not call back for deleted items or after clear', async () => {
    const clock = new FakeClock();
    const seen: string[] = [];
    const table = new Timetable<string>(clock, (item) => seen.push(item));
    table.set('a', 10);
    table.set('b', 20);
    table.delete('a');
    await clock.advance(15);
    table.clear();
    await clock.advance(100);
    expect(seen).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
  });

  test('Timetable calls back again for an item that is set during its callback', async () => {
    const clock = new FakeClock();
    const seen: number[] = [];
    const table = new Timetable<string>(clock, (item) => {
      seen.push(clock.monotonic());
      if (seen.length < 3) table.set(item, clock.monotonic() + 10);
    });
    table.set('a', 0);
    await clock.advance(100);
    expect(seen).toEqual([0, 10, 20]);
  });

  test('Timetable calls back for each item at the time set last, in order, after any sequence of operations', async () => {
    const action = fc.record({
      item: fc.integer({ min: 0, max: 9 }),
      dueMs: fc.option(fc.integer({ min: 0, max: 100 }), { nil: undefined }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 300 }), async (actions) => {
        const clock = new FakeClock();
        const seen: [number, number][] = [];
        const table = new Timetable<number>(clock, (item) => seen.push([clock.monotonic(), item]));
        const wanted = new Map<number, [dueMs: number, order: number]>();
        actions.forEach(({ item, dueMs }, order) => {
          if (dueMs === undefined) {
            table.delete(item);
            wanted.delete(item);
          } else {
            table.set(item, dueMs);
            wanted.set(item, [dueMs, order]);
          }
        });
        expect(table.size).toBe(wanted.size);
        await clock.advance(200);
        const expected = [...wanted].sort(([, a], [, b]) => a[0] - b[0] || a[1] - b[1]);
        expect(seen).toEqual(expected.map(([item, [dueMs]]) => [dueMs, item]));
      }),
      { numRuns: 50 },
    );
  });
});
