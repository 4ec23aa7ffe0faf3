import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mountsBelow } from '@node-agent/tools-containerd';
import { cannotMount } from '@node-agent/tools-csi-driver';
import { expect, test } from 'vitest';
import { countCalls } from '../src/claims/calls.ts';
import { claimingPod } from '../src/claims/claimed-volumes.ts';
import { ExtraMounts } from '../src/claims/extra-mounts.ts';
import { FAULT_CASES } from '../src/claims/fault-cases.ts';
import { type FaultOutcome, faultFigures, faultTable } from '../src/claims/fault-figures.ts';
import { claimsFigures, claimsTable } from '../src/claims/figures.ts';
import { parseClaimsOptions } from '../src/claims/options.ts';
import type { ClaimsTurn } from '../src/claims/turn.ts';
import { ratioMeetsTarget } from '../src/target.ts';

const MIB = 2 ** 20;
const turn = (scale: number, more: Partial<ClaimsTurn> = {}): ClaimsTurn => ({
  ...{ pods: 2, readyMs: [1_000 * scale, 2_000 * scale], startCpuSeconds: scale, machineSeconds: 5 },
  startCalls: { NodeStageVolume: 2, NodePublishVolume: 3 },
  rest: {
    pods: { cpuShare: 0.01 * scale, rssBytes: 90 * MIB },
    mounts: { cpuShare: 0.02 * scale, rssBytes: 91 * MIB },
  },
  ...{ goneMs: 500 * scale, unmountedMs: 600 * scale, endCpuSeconds: scale, endCalls: { NodeUnstageVolume: 2 } },
  ...more,
});

test('claimsFigures contains the median of the turns and the median of the ratios of neighbouring turns', () => {
  const figures = claimsFigures({ ours: [turn(1), turn(3)], go: [turn(2), turn(4)] });
  const named = (name: string) => figures.find((figure) => figure.name === name);
  expect(named('until all pods are Ready')).toMatchObject({ ours: 4, go: 6, ratio: 0.625 });
  expect(named('CPU at rest with additional mounts')?.go).toBeCloseTo(6);
  expect(claimsTable(figures)).toMatch(/until all pods are Ready \[s\] +6 +4 +0.63 +ratio <= 1 +ok/);
});

test('claimsFigures divides the calls of each RPC that a kubelet called by the number of pods, without a ratio', () => {
  const go = turn(1, { startCalls: { NodeGetCapabilities: 22, NodeStageVolume: 2 } });
  const calls = claimsFigures({ ours: [turn(1)], go: [go] }).filter(({ name }) => name.startsWith('calls'));
  expect(calls.map(({ name, go: theirs, ours, ratio }) => [name, theirs, ours, ratio])).toEqual([
    ['calls per volume, start: NodeGetCapabilities', 11, 0, undefined],
    ['calls per volume, start: NodePublishVolume', 0, 1.5, undefined],
    ['calls per volume, start: NodeStageVolume', 1, 1, undefined],
    ['calls per volume, deletion: NodeUnstageVolume', 1, 1, undefined],
  ]);
});

test('claimsFigures omits values that were not measured, and has no ratio without a Go kubelet', () => {
  const figures = claimsFigures({ ours: [turn(1, { rest: undefined })], go: [] });
  expect(figures.map(({ name }) => name).join()).not.toContain('at rest');
  expect(figures.every(({ go, ratio }) => go === undefined && ratio === undefined)).toBe(true);
  expect(figures.map(ratioMeetsTarget)).not.toContain(true);
});

test('ratioMeetsTarget reports a value above its target', () => {
  const slow = claimsFigures({ ours: [turn(2)], go: [turn(1)] });
  const missed = slow.flatMap((figure) => (ratioMeetsTarget(figure) === false ? [figure.name] : []));
  expect(missed).toContain('until all pods are Ready');
  expect(missed).not.toContain('RSS with the pods');
});

test('countCalls counts only the calls that began within the given time', () => {
  const call = (rpc: string, startedAtMs: number) => ({ rpc, startedAtMs, durationMs: 1, request: {}, code: 'OK' });
  const calls = [
    call('CreateVolume', 15),
    call('ControllerGetCapabilities', 15),
    ...[9, 10, 19, 20].map((at) => call('NodeStageVolume', at)),
  ];
  expect(countCalls(calls, 10, 20)).toEqual({ NodeStageVolume: 2 });
});

test('claimingPod mounts the claim in the container', () => {
  const { containers, volumes } = claimingPod('a-claim');
  expect(volumes).toEqual([{ name: 'data', persistentVolumeClaim: { claimName: 'a-claim' } }]);
  expect(containers[0]?.volumeMounts).toEqual([{ name: 'data', mountPath: '/data' }]);
});

test('parseClaimsOptions applies defaults, and names the invalid option', () => {
  expect(parseClaimsOptions([])).toMatchObject({
    pods: 100,
    mounts: 1000,
    seconds: 60,
    rounds: 1,
    alone: false,
    faults: 0,
  });
  expect(parseClaimsOptions(['--kubelet', '/k.js']).kubelet).toBe('/k.js');
  expect(parseClaimsOptions(['--faults', '3', '--only', 'both']).only).toEqual(/both/);
  expect(() => parseClaimsOptions(['--mounts', '0'])).toThrow('--mounts: must be a number from 1 to 50000');
});

test('FAULT_CASES kill the driver, the kubelet and both in each call of a volume, and have a case without a fault for starts and for deletions', () => {
  expect(FAULT_CASES.map(({ name, during, kills }) => `${name}: ${during}, ${kills.length}`)).toEqual([
    'no fault, start: start, 0',
    'no fault, deletion: deletion, 0',
    'driver hangs in NodeStageVolume: start, 0',
    ...['driver', 'kubelet', 'both'].flatMap((killed) => {
      const count = killed === 'both' ? 2 : 1;
      return [
        `${killed} killed in NodeStageVolume: start, ${count}`,
        `${killed} killed in NodePublishVolume: start, ${count}`,
        `${killed} killed in NodeUnpublishVolume: deletion, ${count}`,
        `${killed} killed in NodeUnstageVolume: deletion, ${count}`,
      ];
    }),
  ]);
});

test.each<readonly [outcomes: readonly Partial<FaultOutcome>[], values: object]>([
  [[{ othersMs: [100, 200, 300] }], { medianMs: 200, p99Ms: 298, recoveryMs: 1_000, left: 0 }],
  [
    [
      { othersMs: [100], restarts: 2, recoveryMs: 1_000, left: 1 },
      { othersMs: [300], restarts: 3, recoveryMs: 3_000, left: 2 },
    ],
    { medianMs: 200, p99Ms: 298, restarts: 5, recoveryMs: 2_000, left: 3 },
  ],
  [[{ othersMs: [100, 200, Infinity] }], { medianMs: 200, p99Ms: Infinity }],
  [[{ othersMs: [100, Infinity, Infinity, Infinity] }], { medianMs: Infinity, p99Ms: Infinity }],
  [[{ recoveryMs: Infinity }], { recoveryMs: Infinity }],
])(
  'faultFigures joins the other pods of all turns, and treats a pod that never became Ready as the slowest: %j',
  (outcomes, values) => {
    const usual = { name: 'a', othersMs: [1], restarts: 0, recoveryMs: 1_000, left: 0 };
    const ours = outcomes.map((outcome) => [{ ...usual, ...outcome }]);
    expect(faultFigures({ ours, go: [] })).toEqual([
      { name: 'a', go: undefined, ours: expect.objectContaining(values) as object },
    ]);
  },
);

test('faultTable has a row for each case and a column of each kubelet for each value', () => {
  const outcome = (name: string, scale: number): FaultOutcome => ({
    ...{ name, othersMs: [100 * scale, 200 * scale], restarts: scale, recoveryMs: 1_250 * scale, left: 0 },
  });
  const [first, second] = [outcome('a', 1), { ...outcome('b', 1), recoveryMs: Infinity, left: 4 }];
  const lines = faultTable(faultFigures({ ours: [[first, second]], go: [[outcome('a', 2), outcome('b', 2)]] })).split(
    '\n',
  );
  expect(lines[0]).toMatch(
    /case +others, median \[ms\]: Go +this +p99 \[ms\]: Go +this +restarts: Go +this +recovery \[s\]: Go +this +left: Go +this/,
  );
  expect(lines[2]).toMatch(/a +300 +150 +398 +199 +2 +1 +2.50 +1.25 +0 +0$/);
  expect(lines[3]).toMatch(/b +300 +150 +398 +199 +2 +1 +2.50 +never +0 +4$/);
});

test.runIf((await cannotMount()) === undefined)(
  'ExtraMounts mounts directories, and unmounts all of them when it is disposed',
  async () => {
    const parent = await mkdtemp(join(tmpdir(), 'bench-mounts-'));
    try {
      {
        await using _mounts = await ExtraMounts.make(join(parent, 'm'), 20);
        // The tmpfs itself is a mount, too.
        expect(await mountsBelow(parent)).toHaveLength(21);
      }
      expect(await mountsBelow(parent)).toEqual([]);
      expect(await readdir(join(parent, 'm'))).toEqual([]);
    } finally {
      await rm(parent, { recursive: true });
    }
  },
);
