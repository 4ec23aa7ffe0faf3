import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DueHeap } from '../src/due-heap.ts';

describe('DueHeap', () => {
  it('DueHeap returns keys by due time and then by insertion order, after any additions, moves and removals', () => {
    const key = fc.integer({ min: 0, max: 20 });
    const step = fc.oneof(
      fc.record({ do: fc.constant('set' as const), key, dueMs: fc.nat(10) }),
      fc.record({ do: fc.constant('delete' as const), key }),
      fc.record({ do: fc.constant('take' as const) }),
      fc.record({ do: fc.constant('drop' as const), dueMs: fc.nat(10) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const heap = new DueHeap<number>();
        let list: { key: number; dueMs: number }[] = [];
        const sorted = () => list.toSorted((a, b) => a.dueMs - b.dueMs);
        for (const one of steps) {
          if (one.do === 'set') {
            heap.set(one.key, one.dueMs);
            const known = list.find((entry) => entry.key === one.key);
            if (known === undefined) list.push({ key: one.key, dueMs: one.dueMs });
            else known.dueMs = one.dueMs;
          } else if (one.do === 'delete') {
            expect(heap.delete(one.key)).toBe(list.some((entry) => entry.key === one.key));
            list = list.filter((entry) => entry.key !== one.key);
          } else if (one.do === 'drop') {
            heap.dropAfter(one.dueMs);
            list = list.filter((entry) => entry.dueMs <= one.dueMs);
          } else {
            const first = heap.first();
            if (first !== undefined) heap.delete(first.key);
            expect(first?.key).toBe(sorted()[0]?.key);
            list = list.filter((entry) => entry.key !== first?.key);
          }
          expect([heap.size, heap.first()?.dueMs]).toEqual([list.length, sorted()[0]?.dueMs]);
          for (const { key, dueMs } of list) expect(heap.dueMs(key)).toBe(dueMs);
        }
      }),
    );
  });

  it('DueHeap makes at most 40 comparisons to add, move or take one of 10,000 keys', () => {
    let comparisons = 0;
    const heap = new DueHeap<number>(() => {
      comparisons += 1;
    });
    const count = 10_000;
    for (let key = 0; key < count; key++) heap.set(key, (key * 7919) % count);
    for (let key = 0; key < count; key++) heap.set(key, (key * 104_729) % count);
    for (let first = heap.first(); first !== undefined; first = heap.first()) heap.delete(first.key);
    expect(comparisons / count).toBeLessThan(3 * 40);
  });
});
