import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { excessFiles, logFiles, nextStamp } from '../src/rotated-files.ts';

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

describe('logFiles', () => {
  it('logFiles sorts rotated files by time, and returns the unused files of an interrupted rotation', () => {
    const names = [
      '0.log',
      '0.log.20260102-000000',
      '0.log.20260101-000000.gz',
      '0.log.20260101-000000',
      '0.log.20260103-000000.gz',
      '0.log.20260103-000000.tmp',
      '0.log.20251231-000000.gz.tmp',
      '10.log.20260101-000000',
      '0.logs',
    ];
    const { rotated, unused } = logFiles(names, '0.log');
    expect(rotated).toEqual([
      { name: '0.log.20260101-000000.gz', stamp: '20260101-000000', compressed: true },
      { name: '0.log.20260102-000000', stamp: '20260102-000000', compressed: false },
      { name: '0.log.20260103-000000.gz', stamp: '20260103-000000', compressed: true },
    ]);
    expect(unused).toEqual(['0.log.20251231-000000.gz.tmp', '0.log.20260101-000000', '0.log.20260103-000000.tmp']);
  });

  it('logFiles keeps every compressed file, and returns no file as both used and unused', () => {
    const suffix = fc.constantFrom('', '.gz', '.tmp', '.gz.tmp');
    const name = fc
      .tuple(fc.constantFrom('0.log', '1.log'), fc.constantFrom('.a', '.b', ''), suffix)
      .map((p) => p.join(''));
    fc.assert(
      fc.property(fc.uniqueArray(name), (names) => {
        const { rotated, unused } = logFiles(names, '0.log');
        const used = rotated.map((file) => file.name);
        const own = names.filter((text) => text.startsWith('0.log.'));
        expect([...used, ...unused].sort()).toEqual(own.sort());
        for (const text of own) if (text.endsWith('.gz')) expect(used).toContain(text);
      }),
    );
  });
});

describe('excessFiles', () => {
  const files = ['1', '2', '3', '4'].map((stamp) => ({ name: stamp, stamp, compressed: false }));
  it.each([
    [5, 1],
    [6, 0],
    [2, 4],
    [3, 3],
    [100, 0],
  ])('with at most %d files, removes %d of four rotated files, the oldest first', (maxFiles, gone) => {
    expect(excessFiles(files, maxFiles)).toEqual(files.slice(0, gone));
  });
});

describe('nextStamp', () => {
  const rotated = (...stamps: string[]): Parameters<typeof nextStamp>[0] =>
    stamps.map((stamp) => ({ name: stamp, stamp, compressed: false }));

  it.each([
    [[], '20260102-030405'],
    [['20260102-030404'], '20260102-030405'],
    [['20260102-030405'], '20260102-030406'],
    [['20270101-235959'], '20270102-000000'],
    [['nonsense', '99999999-999999'], '20260102-030405'],
  ])('the next timestamp of a rotated file after %j is %s', (stamps, stamp) => {
    expect(nextStamp(rotated(...stamps), NOW)).toBe(stamp);
  });

  it('N7: the next timestamp of a rotated file sorts after all existing ones, regardless of the clock', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 4e12 }), { minLength: 1, maxLength: 20 }), (clock) => {
        const stamps: string[] = [];
        for (const ms of clock) stamps.push(nextStamp(rotated(...stamps), ms));
        expect(stamps).toEqual([...new Set(stamps)].sort());
      }),
    );
  });
});
