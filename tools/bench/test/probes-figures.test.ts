import { readFile } from 'node:fs/promises';
import { get } from 'node:http';
import { describe, expect, it, test } from 'vitest';
import { countOf, periodErrors } from '../src/probes/arrivals.ts';
import { probesFigureMeets, probesFigures, probesTable } from '../src/probes/figures.ts';
import { parseProbesOptions } from '../src/probes/options.ts';
import { probedPod, servingPod } from '../src/probes/pods.ts';
import { Probed } from '../src/probes/probed.ts';
import { servesAtUptimeMs, uptimeOffsetMs } from '../src/probes/serving.ts';
import { timeWaits } from '../src/probes/sockets.ts';
import type { ProbesTurn } from '../src/probes/turn.ts';

const MB = 1e6;

function turn(cpuShare: number, more: Partial<ProbesTurn['probing']> = {}): ProbesTurn {
  const probing = {
    ...{ cpuShare, rssBytes: 84 * MB, came: 11_990, wanted: 12_000, periodErrorsMs: [0, 1, 2, 9] },
    ...{ timeWaits: { client: 0, server: 0 }, ...more },
  };
  return {
    rest: { cpuShare: 0.05, rssBytes: 80 * MB },
    probing,
    readyAfterServing: { atOnceMs: [10, 40, 90], pacedMs: [5, 6, 7] },
  };
}
const missed = (ours: ProbesTurn, go: readonly ProbesTurn[] = [turn(0.25)]) =>
  probesFigures({ ours: [ours], go }).flatMap((figure) => (probesFigureMeets(figure) === false ? [figure.name] : []));

describe('probesFigures', () => {
  it('probesFigures contains the median of the turns and the median of the ratios of neighbouring turns', () => {
    const figures = probesFigures({ ours: [turn(0.1), turn(0.2)], go: [turn(0.2), turn(0.8)] });
    const named = (name: string) => figures.find((figure) => figure.name === name);
    expect(named('CPU with probes')?.ours).toBeCloseTo(15);
    expect(named('CPU with probes')?.go).toBeCloseTo(50);
    expect(named('CPU with probes')?.ratio).toBeCloseTo(0.375);
    expect(named('CPU of the probes alone')?.ours).toBeCloseTo(10);
    expect(named('serving until Ready, all at once: median')).toMatchObject({ ours: 40, ratio: undefined });
    expect(named('RSS of the probes')).toMatchObject({ ours: 4 });
    expect(probesTable(figures)).toMatch(/CPU with probes \[%\] +50 +15 +0.38 +ratio <= 0.6 +ok/);
  });

  it("without the Go kubelet, probesFigures only applies the targets for this kubelet's own values", () => {
    expect(missed(turn(0.3), [])).toEqual([]);
    expect(probesFigures({ ours: [turn(0.2)], go: [] })[1]).toMatchObject({ go: undefined, ratio: undefined });
  });

  test.each<[string, ProbesTurn]>([
    ['CPU with probes', turn(0.2)],
    ['probes received', turn(0.1, { came: 11_800 })],
    ['period error: 99th percentile', turn(0.1, { periodErrorsMs: [1, 1, 1, 1_000] })],
    ['TIME_WAIT of the kubelet', turn(0.1, { timeWaits: { client: 1, server: 0 } })],
    ['TIME_WAIT of the server', turn(0.1, { timeWaits: { client: 0, server: 1 } })],
    [
      'serving until Ready, all at once: median',
      { ...turn(0.1), readyAfterServing: { atOnceMs: [120], pacedMs: [5] } },
    ],
    [
      'serving until Ready, two a second: median',
      { ...turn(0.1), readyAfterServing: { atOnceMs: [5], pacedMs: [120] } },
    ],
    ['RSS of the probes', turn(0.1, { rssBytes: 87 * MB })],
  ])('a value beyond its target misses only this target: %s', (name, ours) => expect(missed(ours)).toEqual([name]));
});

test('periodErrors computes the deviations per path, and counts a missing probe as one period', () => {
  const arrivals = { '/a/live': [0, 1_000, 2_010, 4_000], '/b/live': [500, 1_480], '/c/live': [7] };
  expect(periodErrors(arrivals, 1_000)).toEqual([0, 10, 990, 20]);
  expect(countOf(arrivals)).toBe(7);
  expect(periodErrors({}, 1_000)).toEqual([]);
});

test('timeWaits counts the sockets of the side that closed first', () => {
  const line = (local: string, remote: string, state: string) =>
    `   0: 0100007F:${local} 0100007F:${remote} ${state} 00000000:00000000 03:00000A2C 00000000     0        0 0 3 0000000000000000`;
  const text = [
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
    line('1F90', '0000', '0A'),
    line('C001', '1F90', '06'),
    line('1F90', 'C002', '06'),
    line('1F90', 'C003', '06'),
    line('C004', '1F90', '01'),
    line('C005', '0050', '06'),
    '',
  ].join('\n');
  expect(timeWaits(text, 0x1f90)).toEqual({ client: 1, server: 2 });
  expect(timeWaits(text, 0x50)).toEqual({ client: 1, server: 0 });
});

test('servesAtUptimeMs reads the uptime at which a container serves from its log', async () => {
  const log = '2026-01-01T00:00:00.1Z stdout F other\n2026-01-01T00:00:00.2Z stdout F serves 12.34\n';
  expect(servesAtUptimeMs(log)).toBe(12_345);
  expect(servesAtUptimeMs('2026-01-01T00:00:00.2Z stdout F serves late\n')).toBeUndefined();
  const uptimeMs = async (): Promise<number> => Number((await readFile('/proc/uptime', 'utf8')).split(' ')[0]) * 1_000;
  const offsetMs = uptimeOffsetMs();
  const before = await uptimeMs();
  const nowMs = performance.now() - offsetMs;
  // Allows a difference of 200 ms: on a busy machine, the change of the uptime may be noticed late.
  expect(nowMs).toBeGreaterThan(before - 200);
  expect(nowMs).toBeLessThan((await uptimeMs()) + 20);
  expect(servingPod().containers[0]?.command?.[2]).toContain('echo "serves $up"');
});

test('the probed server records the arrival of each probe and deletes the records on request', async () => {
  using probed = await Probed.start();
  const { readinessProbe, livenessProbe } = probedPod('web', probed.port).containers[0] ?? {};
  const ask = (path = ''): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port: probed.port, path, agent: false };
      get(options, (response) => response.resume().on('end', () => resolve(response.statusCode))).on('error', reject);
    });
  expect(await ask(livenessProbe?.httpGet?.path)).toBe(200);
  probed.forget();
  for (const probe of [readinessProbe, readinessProbe, livenessProbe]) await ask(probe?.httpGet?.path);
  const arrivals = await probed.arrivals();
  expect(Object.entries(arrivals).map(([path, times]) => [path, times.length])).toEqual([
    ['/web/ready', 2],
    ['/web/live', 1],
  ]);
  const [first = 0, second = 0] = arrivals['/web/ready'] ?? [];
  expect(second).toBeGreaterThan(first);
});

describe('parseProbesOptions', () => {
  it('parseProbesOptions applies defaults', () => {
    expect(parseProbesOptions([])).toMatchObject({ pods: 100, seconds: 60, rounds: 1, alone: false });
  });

  it.each([
    [['--pods', '0'], '--pods: must be a number from 1 to 240, is "0"'],
    [['--seconds', '4'], '--seconds: must be a number from 5 to 3600, is "4"'],
    [['--pod', '4'], "Unknown option '--pod'"],
  ])('parseProbesOptions rejects %j', (argv, message) => {
    expect(() => parseProbesOptions(argv)).toThrow(message);
  });
});
