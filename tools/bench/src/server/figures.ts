import { rounded } from '../rounded.ts';
import { median, quantile } from '../statistics.ts';
import { renderTable } from '../table.ts';
import { verdict } from '../target.ts';
import type { Load } from './loads.ts';
import type { ServerTurn, Used } from './turn.ts';

/** One value of both kubelets: for each kubelet, the median of its turns. */
export interface ServerFigure {
  readonly name: string;
  readonly unit: string;
  readonly go: number | undefined;
  readonly ours: number;
  /** Median of the ratios of this kubelet's turns to the Go kubelet's neighbouring turns. */
  readonly ratio: number | undefined;
  /** Greatest ratio that meets the target, or the smallest one if `atLeast` is set. */
  readonly target?: number;
  readonly atLeast?: boolean;
}

const MIB = 2 ** 20;

type Row = readonly [
  name: string,
  unit: string,
  of: (turn: ServerTurn) => number,
  target?: number | undefined,
  atLeast?: boolean,
];

/**
 * Returns the rows for CPU and memory. CPU time is divided by the work done, because a kubelet that delays or rejects
 * its clients would otherwise look cheap.
 */
function usage(name: string, each: string, of: (turn: ServerTurn) => Used & Load): readonly Row[] {
  return [
    [`${name}: CPU`, '%', (turn) => of(turn).cpuShare * 100],
    [`${name}: CPU for ${each}`, 'ms', (turn) => (of(turn).cpuSeconds * 1000) / of(turn).done, 1],
    [`${name}: peak RSS`, 'MiB', (turn) => of(turn).peakRssBytes / MIB],
  ];
}

function load(name: string, each: string, of: (turn: ServerTurn) => Used & Load): readonly Row[] {
  return [
    ...usage(name, each, of),
    [`${name}: median`, 'ms', (turn) => median(of(turn).latencyMs)],
    [`${name}: 99th percentile`, 'ms', (turn) => quantile(of(turn).latencyMs, 0.99)],
    [`${name}: failed`, '', (turn) => of(turn).failed],
  ];
}

const ROWS: readonly Row[] = [
  ['at rest: CPU', '%', ({ rest }) => rest.cpuShare * 100],
  ['at rest: RSS', 'MiB', ({ rest }) => rest.rssBytes / MIB],
  ...usage('log followers', 'a line', ({ follow }) => follow),
  ['log followers: lines received', '%', ({ follow }) => (follow.done / follow.wanted) * 100],
  ['log followers: ended early', '', ({ follow }) => follow.failed],
  ...load('execs', 'one', ({ exec }) => exec),
  ...load('/metrics/resource', 'an answer', ({ resource }) => resource),
  ...load('/metrics/cadvisor', 'an answer', ({ cadvisor }) => cadvisor),
  ['port-forward: throughput', 'MiB/s', ({ forward }) => forward.bytesPerSecond / MIB, 0.8, true],
  ['port-forward: first byte', 'ms', ({ forward }) => median(forward.firstByteMs)],
  ['port-forward: CPU', 's', ({ forward }) => forward.cpuSeconds],
];

/** Compares the values of both kubelets. The turns must be in chronological order. */
export function serverFigures(ours: readonly ServerTurn[], go: readonly ServerTurn[]): readonly ServerFigure[] {
  return ROWS.map(([name, unit, of, target, atLeast]) => {
    const ratios = ours.flatMap((turn, index) => {
      const other = go[index];
      const ratio = other === undefined ? Number.NaN : of(turn) / of(other);
      return Number.isFinite(ratio) ? [ratio] : [];
    });
    return {
      ...{ name, unit, ours: median(ours.map(of)) },
      go: go.length === 0 ? undefined : median(go.map(of)),
      ratio: ratios.length === 0 ? undefined : median(ratios),
      ...(target !== undefined && { target }),
      ...(atLeast && { atLeast }),
    };
  });
}

/** Returns whether a value meets its target; `undefined` if there is no target or no comparison. */
export function serverFigureMeets({ ratio, target, atLeast = false }: ServerFigure): boolean | undefined {
  if (ratio === undefined || target === undefined) return undefined;
  return atLeast ? ratio >= target : ratio <= target;
}

export function serverTable(figures: readonly ServerFigure[]): string {
  return renderTable(
    ['figure', 'Go', 'this', 'ratio', 'target', ''],
    figures.map((figure) => {
      const { name, unit, go, ours, ratio, target, atLeast } = figure;
      const meets = serverFigureMeets(figure);
      return [
        ...[unit === '' ? name : `${name} [${unit}]`, rounded(go), rounded(ours), rounded(ratio)],
        target === undefined ? '' : `${atLeast ? '>=' : '<='} ${target}`,
        verdict(meets),
      ];
    }),
  );
}
