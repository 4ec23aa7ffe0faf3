import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ChangeLog } from '../src/feed/change-log.ts';

interface Row {
  readonly uid: string;
  readonly value: number;
}

/** Applies changes as the page does. */
function apply(known: Map<string, Row>, { isAll, changed, gone }: ReturnType<ChangeLog<Row>['since']>): void {
  if (isAll) known.clear();
  for (const uid of gone) known.delete(uid);
  for (const row of changed) known.set(row.uid, row);
}

const sorted = (rows: Iterable<Row>): readonly Row[] => [...rows].sort((a, b) => (a.uid < b.uid ? -1 : 1));
const list = fc.uniqueArray(fc.record({ uid: fc.constantFrom(...'abcdef'), value: fc.nat(3) }), {
  selector: ({ uid }) => uid,
});

describe('ChangeLog', () => {
  it('a reader that reads changes at arbitrary times ends with the newest rows', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(list, fc.boolean()), { maxLength: 30 }), (rounds) => {
        const log = new ChangeLog<Row>();
        const known = new Map<string, Row>();
        let version: number | undefined;
        for (const [rows, reads] of rounds) {
          log.update(rows);
          if (!reads) continue;
          const changes = log.since(version);
          version = changes.version;
          apply(known, changes);
          expect(sorted(known.values())).toEqual(sorted(rows));
        }
      }),
    );
  });

  it('rows that are unchanged make no new version', () => {
    const log = new ChangeLog<Row>();
    expect(log.update([{ uid: 'a', value: 1 }])).toBe(true);
    expect(log.update([{ uid: 'a', value: 1 }])).toBe(false);
    expect(log.since(log.version)).toEqual({ version: 1, isAll: false, changed: [], gone: [] });
  });

  it('a reader that missed more removals than are remembered gets all rows', () => {
    const log = new ChangeLog<Row>();
    const many = Array.from({ length: 600 }, (_none, index) => ({ uid: `p${index}`, value: 0 }));
    log.update(many);
    const before = log.version;
    for (let left = 599; left >= 0; left -= 1) log.update(many.slice(0, left));
    log.update([{ uid: 'last', value: 1 }]);
    expect(log.since(before)).toMatchObject({ isAll: true, changed: [{ uid: 'last' }] });
    expect(log.since(log.version - 10).isAll).toBe(false);
  });

  it('a reader with a version that does not exist yet gets all rows', () => {
    const log = new ChangeLog<Row>();
    log.update([{ uid: 'a', value: 1 }]);
    expect(log.since(7)).toMatchObject({ isAll: true, changed: [{ uid: 'a' }] });
  });
});
