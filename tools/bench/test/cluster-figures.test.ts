import { describe, expect, test } from 'vitest';
import { clusterFigures, type Turn } from '../src/cluster/figures.ts';
import { parseClusterOptions } from '../src/cluster/options.ts';
import { topFunctions } from '../src/cluster/profile.ts';
import { clusterTable } from '../src/cluster/tables.ts';
import { ratioMeetsTarget } from '../src/target.ts';

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

describe('clusterFigures: comparison of both kubelets', () => {
  const named = (figures: ReturnType<typeof clusterFigures>, name: string) =>
    figures.find((figure) => figure.name === name);

  test("clusterFigures reports the time of a batch's slowest pod and, separately, of its median pod", () => {
    const figures = clusterFigures([turn(0.5)], [turn(1)]);
    expect(named(figures, 'batch, until all pods are ready')).toMatchObject({
      go: 4,
      ours: 2,
      ratio: 0.5,
      target: 0.65,
    });
    expect(named(figures, 'batch, median pod')).toMatchObject({ go: 2, ours: 1, ratio: 0.5, target: 0.4 });
    expect(named(figures, 'single pod until ready')).toMatchObject({ go: 200, ours: 100 });
    expect(named(figures, 'status writes per pod of the batch')).toMatchObject({ go: 3, ours: 1.5 });
    expect(named(figures, 'events per pod of the batch')).toMatchObject({ go: 5, ours: 2.5 });
  });

  test('with several rounds, clusterFigures reports the median of the ratios of neighbouring turns', () => {
    const figures = clusterFigures([turn(1), turn(2), turn(9)], [turn(1), turn(4), turn(9)]);
    expect(named(figures, 'deletion')?.ratio).toBe(1);
  });

  test('a ratio above its target misses the target; without the Go kubelet, ratioMeetsTarget returns undefined', () => {
    const [batch] = clusterFigures([turn(1)], [turn(1)]);
    expect(batch && ratioMeetsTarget(batch)).toBe(false);
    const [alone] = clusterFigures([turn(1)], []);
    expect(alone).toMatchObject({ go: undefined, ratio: undefined });
    expect(alone && ratioMeetsTarget(alone)).toBeUndefined();
  });

  test('clusterFigures has values of the bare runtime only for pod starts', () => {
    const figures = clusterFigures([turn(1)], [turn(1)], [turn(0.25)]);
    expect(named(figures, 'batch, until all pods are ready')).toMatchObject({ bare: 1 });
    expect(named(figures, 'single pod until ready')).toMatchObject({ bare: 50 });
    expect(named(figures, 'deletion')).toMatchObject({ bare: undefined });
  });

  test('clusterFigures omits values that were not measured', () => {
    expect(named(clusterFigures([turn(1)], []), 'annotation changes, many writers')).toBeUndefined();
    const changes = { onePerSecond: 300, perSecond: 900, grownBytes: 2 ** 20 };
    expect(named(clusterFigures([turn(1, { changes })], []), 'RSS growth after annotation changes')).toMatchObject({
      ours: 1,
    });
  });
});

test('parseClusterOptions rejects invalid values with an error that names the option', () => {
  expect(parseClusterOptions(['--pods', '20', '--alone'])).toMatchObject({ pods: 20, alone: true, singles: 5 });
  expect(() => parseClusterOptions(['--pods', '1000'])).toThrow('--pods: must be a number from 1 to 240, is "1000"');
  expect(() => parseClusterOptions(['--fake-runtime', '--only-storm'])).toThrow(
    '--only-storm: cannot be combined with --fake-runtime',
  );
});

test('topFunctions returns functions with their places and ignores idle samples', () => {
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

describe('other kubelets', () => {
  test('--kubelet names a column and a program, and may be repeated', () => {
    expect(parseClusterOptions(['--kubelet', 'grpc-js=/a/b=c', '--kubelet', 'old=/d']).others).toEqual([
      { name: 'grpc-js', program: '/a/b=c' },
      { name: 'old', program: '/d' },
    ]);
    for (const wrong of ['/a/b', '=/a', 'old=']) {
      expect(() => parseClusterOptions(['--kubelet', wrong])).toThrow(`--kubelet: must be NAME=FILE, not "${wrong}"`);
    }
    expect(() => parseClusterOptions(['--kubelet', 'Go=/a'])).toThrow('--kubelet: two columns would be called Go');
    expect(() => parseClusterOptions(['--only-storm', '--kubelet', 'a=/a'])).toThrow('cannot be combined');
  });

  test('the table has the value of each other kubelet and its ratio to the Go kubelet', () => {
    const go = [turn(1)];
    const table = clusterTable(clusterFigures([turn(0.5)], go), [
      { name: 'old', figures: clusterFigures([turn(0.75)], go) },
    ]);
    const [head = '', , ...rows] = table.split('\n');
    expect(head).toMatch(/ old +ratio/);
    expect(rows.find((row) => row.startsWith('deletion'))).toMatch(/1000 +500 +0\.50 .* 750 +0\.75/);
  });
});
