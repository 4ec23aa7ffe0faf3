import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Store } from '../src/core/store.ts';

describe('the store', () => {
  test('the store returns every past state, and the changes since that state lead to the current one', () => {
    const write = fc.record({ key: fc.constantFrom('a', 'b', 'c'), value: fc.option(fc.nat(9)) });
    fc.assert(
      fc.property(fc.array(write, { maxLength: 30 }), (writes) => {
        const store = new Store();
        const states = new Map([[store.revision, new Map<string, object>()]]);
        for (const { key, value } of writes) {
          if (value === null) store.delete('maps', key);
          else store.put('maps', key, { value });
          states.set(store.revision, new Map(store.list('maps')));
        }
        for (const [revision, state] of states) {
          expect(store.listAt('maps', revision)).toEqual(state);
          const replayed = new Map(state);
          for (const change of store.changesSince('maps', revision) ?? []) {
            expect(change.revision).toBeGreaterThan(revision);
            if (change.type === 'DELETED') replayed.delete(change.key);
            else replayed.set(change.key, change.object);
          }
          expect(replayed).toEqual(new Map(store.list('maps')));
        }
      }),
    );
  });

  test('the store returns nothing older than its history or its compaction', () => {
    const store = new Store({ historyLimit: 10 });
    for (let value = 0; value < 100; value++) store.put('maps', 'a', { value });
    expect(store.changesSince('maps', 1)).toBeUndefined();
    expect(store.changesSince('maps', store.compactedRevision)?.length).toBe(store.revision - store.compactedRevision);
    expect(store.revision - store.compactedRevision).toBeLessThanOrEqual(15);
    store.compact();
    expect(store.listAt('maps', store.revision - 1)).toBeUndefined();
    expect(store.listAt('maps', store.revision)?.size).toBe(1);
  });

  test('the store is not affected when the caller modifies an object after put', () => {
    const store = new Store();
    const object = { data: { a: '1' } };
    store.put('maps', 'a', object);
    object.data.a = '2';
    expect(store.get('maps', 'a')).toMatchObject({ data: { a: '1' } });
  });
});
