import { describe, expect, test } from 'vitest';
import { type CpuProfile, functionMs } from '../src/cluster/profile.ts';
import { scaleMarkdown, scaleTables } from '../src/scale/figures.ts';
import { parseScaleOptions } from '../src/scale/options.ts';
import type { ScaleTurn, SizeSample } from '../src/scale/turn.ts';

const MIB = 2 ** 20;

function sample(pods: number, more: Partial<SizeSample> = {}): SizeSample {
  return {
    ...{ pods, restCpuShare: 0.01, rssBytes: (80 + pods / 20) * MIB, startCpuMs: 30, readyMs: [100, 200, 900] },
    ...{ deleteCpuMs: 20, restartCpuMs: 25, restartMs: [50, 70], changeCpuMs: 4, housekeepingMs: 3 },
    ...{ podsPageMs: 10, metricsPageMs: 20, holdMs: 30, ...more },
  };
}

function turn(largest: Partial<SizeSample> = {}): ScaleTurn {
  return { emptyRssBytes: 70 * MIB, sizes: [sample(10), sample(1000, largest)] };
}

describe('parseScaleOptions', () => {
  test('parseScaleOptions defaults to sizes from 10 to 1,000 pods', () => {
    const defaults = { sizes: [10, 100, 250, 500, 1000], finished: 10_000, rounds: 1, memoryApi: false };
    expect(parseScaleOptions([])).toMatchObject(defaults);
  });

  test.each([
    [['--pods', '10,5'], '--pods: must be ascending'],
    [['--pods', '10,'], '--pods: must be a number from 1 to 5000'],
    [['--finished=-1'], '--finished: must be a number'],
    [['--only-other'], '--only-other: requires --kubelet'],
  ])('parseScaleOptions rejects %j with a message that names the option', (argv, message) => {
    expect(() => parseScaleOptions(argv)).toThrow(message);
  });
});

describe('scaleTables', () => {
  test('each value of scaleTables is the median of the turns', () => {
    const { sizes, bytesPerPod } = scaleTables([turn({ startCpuMs: 31 }), turn({ startCpuMs: 35 }), turn()]);
    expect(sizes.map((row) => row['start: CPU per pod [ms]'])).toEqual([30, 31]);
    expect(sizes[1]).toMatchObject({ pods: 1000, 'Ready, median [ms]': 200, 'restart until in the API [ms]': 60 });
    expect(bytesPerPod).toBe(MIB / 20);
  });

  test('scaleTables reports no missed target for a kubelet whose costs do not grow', () => {
    expect(scaleTables([turn()]).missed).toEqual([]);
  });

  test.each<[string, Partial<SizeSample>, string]>([
    ['CPU per started pod grows by half', { startCpuMs: 45 }, 'start: CPU per pod [ms]: growth from 10 to 1000 pods'],
    ['CPU per change grows by half', { changeCpuMs: 6 }, 'changed annotation: CPU [ms]: growth'],
    ['the event loop is held for 60 ms', { holdMs: 60 }, '1000 pods: longest hold [ms]: 60, at most 50'],
    ['a pod takes 200 KiB', { rssBytes: 280 * MIB }, 'RSS per pod [KiB]: 20'],
  ])('scaleTables reports a missed target if %s', (_what, largest, message) => {
    const { missed } = scaleTables([turn(largest)]);
    expect(missed).toHaveLength(1);
    expect(missed[0]).toContain(message);
  });

  test('scaleTables has targets for finished pods: time until Ready, blocked event loop and /healthz', () => {
    const finished = {
      pods: 10_000,
      takenInMs: 6_000,
      atRestMs: 9_000,
      cpuMs: 1,
      holdMs: 51,
      healthzMs: 101,
      unhealthy: 0,
      rssBytes: 1,
    };
    expect(scaleTables([{ ...turn(), finished }]).missed).toHaveLength(3);
  });

  test('values that were not measured, as with a Go kubelet, are empty in the table and miss no target', () => {
    const tables = scaleTables([turn({ holdMs: Number.NaN, housekeepingMs: Number.NaN })]);
    expect(tables.missed).toEqual([]);
    expect(scaleMarkdown('go', tables).split('\n').at(-4)).toMatch(/^\| 1000 \| 1 \| 130 \|.* \| {2}\|$/);
  });
});

test('functionMs adds up the time in a function and in the functions that it calls', () => {
  const node = (id: number, functionName: string, children: readonly number[] = []): CpuProfile['nodes'][number] => ({
    ...{ id, children },
    callFrame: { functionName, url: '', lineNumber: 0 },
  });
  const profile: CpuProfile = {
    nodes: [node(1, '(root)', [2, 4]), node(2, 'pass', [3]), node(3, 'list'), node(4, 'other', [5]), node(5, 'pass')],
    samples: [2, 3, 4, 5, 4],
    timeDeltas: [0, 1000, 2000, 4000, 8000],
  };
  expect(functionMs(profile, ['pass', 'list', 'none'])).toEqual({ pass: 11, list: 2, none: 0 });
});
