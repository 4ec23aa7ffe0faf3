import { describe, expect, test } from 'vitest';
import { type Batch, figures, type Measured, meetsTarget } from '../src/figures.ts';
import { jsonOf, tableOf } from '../src/report.ts';
import { renderTable } from '../src/table.ts';

const batch = (readyMs: readonly number[], totalMs = Math.max(...readyMs)): Batch => ({
  readyMs,
  totalMs,
  cpuSeconds: 1,
  runtimeCpuSeconds: 2,
  runtimeCalls: 3 * readyMs.length,
});

const figure = (measured: Measured, name: string) => figures(measured).find((candidate) => candidate.name === name);

describe('figures', () => {
  test('the ratio of a batch is the median of the ratios of its repetitions, not the ratio of the medians', () => {
    const batches = [
      { bare: batch([1000, 2000]), kubelet: batch([1000, 2200]) },
      { bare: batch([1000, 8000]), kubelet: batch([1000, 8000]) },
      { bare: batch([1000, 4000]), kubelet: batch([1000, 8000]) },
    ];
    const found = figure({ batches }, 'batch of 2 pods ready');
    expect(found).toMatchObject({ unit: 's', bare: 4, kubelet: 8 });
    expect(found?.ratio).toBeCloseTo(1.1);
    expect(found && meetsTarget(found)).toBe(true);
  });

  test('figures contains the time of the median pod as a share of the time of its whole batch', () => {
    const batches = [{ bare: batch([1, 2, 3, 4]), kubelet: batch([10, 70, 80, 100]) }];
    const found = figure({ batches }, 'median pod / batch');
    expect(found).toMatchObject({ bare: 0.625, kubelet: 0.75 });
    expect(found && meetsTarget(found)).toBe(false);
  });

  test('a restart meets its target if it takes at most 100 ms more than the runtime needs to create and start a container', () => {
    const restarts = (endToStartMs: number): Measured => ({
      batches: [],
      restarts: {
        bare: [{ killToStartMs: 150, endToStartMs: 140, createAndStartMs: 80 }],
        kubelet: [{ killToStartMs: endToStartMs + 10, endToStartMs }],
      },
    });
    const meets = (ms: number) => {
      const found = figure(restarts(ms), 'from the end of a container to its restart');
      return found && meetsTarget(found);
    };
    expect([meets(180), meets(181)]).toEqual([true, false]);
  });

  test('figures omit values that were not measured', () => {
    expect(figures({ batches: [] })).toEqual([]);
    const idle = { pods: 100, rssBytes: 119e6, peakRssBytes: 130e6, cpuShare: 0.011, sleepsPerSecond: 20 };
    const shown = figures({ batches: [], idle });
    expect(shown.map(({ name }) => name)).toEqual([
      'memory, 100 pods',
      'memory, peak',
      'idle CPU, 100 pods',
      'wakeups, 100 pods',
    ]);
    expect(shown.map(meetsTarget)).toEqual([true, undefined, false, undefined]);
  });
});

describe('tableOf and jsonOf', () => {
  const result = figures({
    single: { bareMs: [100, 200, 300], kubeletMs: [220] },
    batches: [],
    empty: { rssBytes: 96e6, cpuShare: 0.001 },
  });

  test('tableOf formats values and marks a missed target', () => {
    expect(tableOf(result)).toBe(
      [
        'figure                 bare  kubelet  ratio   target',
        '---------------------  ----  -------  -----  -------  ----',
        'single pod ready [ms]   200      220   1.10',
        'memory, no pod [MB]             96.0         <= 95.0  MISS',
        'idle CPU, no pod [%]            0.10',
        '',
      ].join('\n'),
    );
  });

  test('jsonOf contains the same values and verdicts', () => {
    const { node, figures: list } = JSON.parse(jsonOf(result, { node: 'v24' }));
    expect(node).toBe('v24');
    expect(list).toHaveLength(3);
    expect(list[1]).toMatchObject({ name: 'memory, no pod', kubelet: 96, ok: false });
    expect(list[0]).not.toHaveProperty('ok');
  });

  test('renderTable pads columns to the longest cell and fills short rows', () => {
    expect(renderTable(['a', 'b'], [['long', '1'], ['x']])).toBe('a     b\n----  -\nlong  1\nx\n');
  });
});
