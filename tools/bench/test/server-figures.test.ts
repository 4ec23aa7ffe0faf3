import { describe, expect, it } from 'vitest';
import { serverFigureMeets, serverFigures, serverTable } from '../src/server/figures.ts';
import { atRate } from '../src/server/loads.ts';
import { parseServerOptions } from '../src/server/options.ts';
import type { ServerTurn } from '../src/server/turn.ts';

const MIB = 2 ** 20;

function turn(cpuShare: number, bytesPerSecond: number, done = 50): ServerTurn {
  const used = { cpuShare, cpuSeconds: cpuShare * 10, rssBytes: 80 * MIB, peakRssBytes: 90 * MIB };
  const load = { ...used, done, wanted: 100, failed: 0, latencyMs: [1, 2, 30] };
  const forward = { ...used, bytesPerSecond, firstByteMs: [4, 5, 6] };
  return { rest: used, follow: load, exec: load, resource: load, cadvisor: load, forward };
}

describe('serverFigures', () => {
  const figures = serverFigures(
    [turn(0.2, 70 * MIB), turn(0.4, 90 * MIB)],
    [turn(0.4, 100 * MIB), turn(0.4, 100 * MIB)],
  );
  const named = (name: string) => figures.find((figure) => figure.name === name);

  it('serverFigures contains the median of the turns and the median of the ratios of neighbouring turns', () => {
    expect(named('log followers: CPU')).toMatchObject({ go: 40 });
    expect(named('log followers: CPU')?.ours).toBeCloseTo(30);
    expect(named('log followers: CPU')?.ratio).toBeCloseTo(0.75);
    expect(named('log followers: lines received')).toMatchObject({ ours: 50 });
    expect(named('execs: median')).toMatchObject({ ours: 2 });
    // Without failures on either side, there is no ratio.
    expect(named('execs: failed')).toMatchObject({ ours: 0, ratio: undefined });
  });

  it('serverFigures divides the CPU time of a load by the work done', () => {
    const [first] = serverFigures([turn(0.4, 1, 80)], [turn(0.2, 1, 20)]).filter(({ name }) => name.includes('a line'));
    expect(first).toMatchObject({ name: 'log followers: CPU for a line', unit: 'ms', go: 100, ours: 50, target: 1 });
    expect(first && serverFigureMeets(first)).toBe(true);
  });

  it('serverFigureMeets compares the ratio with a minimum or maximum', () => {
    const throughput = named('port-forward: throughput');
    expect(throughput).toMatchObject({ ours: 80, go: 100, atLeast: true });
    expect(throughput && serverFigureMeets(throughput)).toBe(true);
    expect(throughput && serverFigureMeets({ ...throughput, ratio: 0.79 })).toBe(false);
    const [rest] = figures;
    expect(rest && serverFigureMeets(rest)).toBeUndefined();
    expect(serverTable(figures)).toMatch(/port-forward: throughput \[MiB\/s\] +100 +80 +0.80 +>= 0.8 +ok/);
  });

  it('serverFigures contains no ratio without the Go kubelet', () => {
    const [first] = serverFigures([turn(0.2, 1)], []);
    expect(first).toMatchObject({ go: undefined, ratio: undefined });
  });
});

describe('atRate', () => {
  it('atRate starts operations at the given rate without waiting for earlier ones, and counts failures', async () => {
    const started: number[] = [];
    const once = async (index: number): Promise<number> => {
      started.push(index);
      if (index === 1) throw new Error('refused');
      return index;
    };
    const load = await atRate({ perMinute: 1_200, seconds: 0.25 }, once, new AbortController().signal);
    expect(started).toEqual([0, 1, 2, 3, 4]);
    expect(load).toEqual({ done: 4, wanted: 5, failed: 1, latencyMs: [0, 2, 3, 4], problem: 'refused' });
  });
});

describe('parseServerOptions', () => {
  it('parseServerOptions applies defaults and the option --scale', () => {
    const issue = { pods: 100, followers: 500, execsPerMinute: 200, scrapesPerMinute: 1_000, seconds: 60 };
    expect(parseServerOptions([])).toMatchObject(issue);
    expect(parseServerOptions(['--scale', '0.1'])).toMatchObject({
      ...{ pods: 100, followers: 50, execsPerMinute: 20, scrapesPerMinute: 100 },
    });
  });

  it.each([
    [['--scale', '0'], '--scale: must be a number from 0.01 to 10, is "0"'],
    [['--pods', '1.5'], '--pods: must be a number from 1 to 240, is "1.5"'],
    [['--seconds', ''], '--seconds: must be a number from 2 to 3600, is ""'],
  ])('parseServerOptions rejects %j', (argv, message) => {
    expect(() => parseServerOptions(argv)).toThrow(message);
  });
});
