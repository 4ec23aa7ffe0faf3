import { expect, test } from 'vitest';
import { type Storm, stormFigures } from '../src/cluster/storm-figures.ts';

const MIB = 2 ** 20;
const storm = (more: Partial<Storm> = {}): Storm => ({
  perSecond: 999,
  cpuShare: 0.4,
  beforeRssBytes: 90 * MIB,
  thirdsRssBytes: [100 * MIB, 101 * MIB, 102 * MIB],
  settledRssBytes: 101 * MIB,
  listedAfterMs: 10,
  writtenAfterMs: 20,
  ...more,
});
const missed = (ours: Storm) =>
  stormFigures(ours, undefined).flatMap(({ name, meets }) => (meets === false ? [name] : []));

test('stormFigures: a kubelet that keeps up with the changes, and whose memory stops growing, meets all targets', () => {
  expect(missed(storm())).toEqual([]);
  expect(
    stormFigures(storm(), storm({ cpuShare: 0.5 })).find(({ name }) => name === 'CPU during the changes'),
  ).toMatchObject({
    go: 50,
    ours: 40,
    target: '',
    meets: undefined,
  });
});

test.each<[string, Partial<Storm>]>([
  ['changes of one pod seen by the watch', { perSecond: 900 }],
  ['RSS growth from the first third to the last', { thirdsRssBytes: [90 * MIB, 95 * MIB, 100 * MIB] }],
  ['RSS growth, settled', { settledRssBytes: 111 * MIB }],
  ['last change until visible in /pods', { listedAfterMs: 5000 }],
  ['last change until written to the volume', { writtenAfterMs: 5000 }],
])('a value beyond its target misses only this target of stormFigures: %s', (name, more) => {
  expect(missed(storm(more))).toEqual([name]);
});
