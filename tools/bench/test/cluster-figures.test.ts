import { describe, expect, test } from 'vitest';
import { clusterFigureMeetsTarget, clusterFigures, type Turn } from '../src/cluster/figures.ts';
import { parseClusterOptions } from '../src/cluster/options.ts';
import { topFunctions } from '../src/cluster/profile.ts';

const turn = (factor: number, more: Partial<Turn> = {}): Turn => ({
  batchReadyMs: [1000 * factor, 2000 * factor, 4000 * factor],
  batchCpuSeconds: 2 * factor,
  machineSeconds: 20 * factor,
  singleMs: [100 * factor, 300 * factor, 200 * factor],
  deletionMs: [1000 * factor],
  restartMs: [700 * factor],
  idleCpuShare: 0.04 * factor,
  emptyRssBytes: 80 * 2 ** 20,
  rssBytes: 120 * 2 ** 20,
  statusWritesPerPod: 3 * factor,
  eventsPerPod: 5 * factor,
  ...more,
});

describe('figures of a cluster', () => {
  const named = (figures: ReturnType<typeof clusterFigures>, name: string) =>
    figures.find((figure) => figure.name === name);

  test('a batch is as long as its slowest pod, and its median pod counts by itself', () => {
    const figures = clusterFigures([turn(0.5)], [turn(1)]);
    expect(named(figures, 'batch until all are ready')).toMatchObject({ go: 4, ours: 2, ratio: 0.5, target: 0.65 });
    expect(named(figures, 'its median pod')).toMatchObject({ go: 2, ours: 1, ratio: 0.5, target: 0.4 });
    expect(named(figures, 'single pod until ready')).toMatchObject({ go: 200, ours: 100 });
    expect(named(figures, 'writes of a status, each pod of the batch')).toMatchObject({ go: 3, ours: 1.5 });
    expect(named(figures, 'events, each pod of the batch')).toMatchObject({ go: 5, ours: 2.5 });
  });

  test('of several rounds the median of the ratios of neighbours counts', () => {
    const figures = clusterFigures([turn(1), turn(2), turn(9)], [turn(1), turn(4), turn(9)]);
    expect(named(figures, 'deletion')?.ratio).toBe(1);
  });

  test('a ratio above its target misses it; without the other kubelet there is nothing to miss', () => {
    const [batch] = clusterFigures([turn(1)], [turn(1)]);
    expect(batch && clusterFigureMeetsTarget(batch)).toBe(false);
    const [alone] = clusterFigures([turn(1)], []);
    expect(alone).toMatchObject({ go: undefined, ratio: undefined });
    expect(alone && clusterFigureMeetsTarget(alone)).toBeUndefined();
  });

  test('the bare runtime has figures for starts alone', () => {
    const figures = clusterFigures([turn(1)], [turn(1)], [turn(0.25)]);
    expect(named(figures, 'batch until all are ready')).toMatchObject({ bare: 1 });
    expect(named(figures, 'single pod until ready')).toMatchObject({ bare: 50 });
    expect(named(figures, 'deletion')).toMatchObject({ bare: undefined });
  });

  test('what was not measured is left out', () => {
    expect(named(clusterFigures([turn(1)], []), 'changes of annotations, many')).toBeUndefined();
    const changes = { onePerSecond: 300, perSecond: 900, grownBytes: 2 ** 20 };
    expect(named(clusterFigures([turn(1, { changes })], []), 'RSS grown by them')).toMatchObject({ ours: 1 });
  });
});

test('the options name what is wrong with them', () => {
  expect(parseClusterOptions(['--pods', '20', '--alone'])).toMatchObject({ pods: 20, alone: true, singles: 5 });
  expect(() => parseClusterOptions(['--pods', '1000'])).toThrow('--pods: "1000" is not a number from 1 to 240');
  expect(() => parseClusterOptions(['--fake-runtime', '--only-storm'])).toThrow('--only-storm needs a real runtime');
});

test('a profile is told by where its samples are, without idle ones', () => {
  const frame = (functionName: string, url = '', lineNumber = 0) => ({ functionName, url, lineNumber });
  const nodes = [
    { id: 1, callFrame: frame('(idle)') },
    { id: 2, callFrame: frame('parse', 'file:///a/json.js', 9) },
    { id: 3, callFrame: frame('') },
  ];
  expect(topFunctions({ nodes, samples: [1, 1, 2, 2, 2, 3] })).toEqual([
    ['parse json.js:10', 0.75],
    ['(anonymous)', 0.25],
  ]);
});
