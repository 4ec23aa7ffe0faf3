import { rounded } from '../rounded.ts';
import type { SideBySide } from '../side-by-side.ts';
import { median, quantile } from '../statistics.ts';
import { renderTable } from '../table.ts';
import { verdict } from '../target.ts';
import type { ProbesTurn } from './turn.ts';

/** One value of both kubelets: for each kubelet, the median of its turns. */
export interface ProbesFigure {
  readonly name: string;
  readonly unit: string;
  readonly go: number | undefined;
  readonly ours: number;
  /**
   * Median of the ratios of this kubelet's turns to the Go kubelet's neighbouring turns. Undefined if the target is not
   * a ratio.
   */
  readonly ratio: number | undefined;
  readonly target: Target | undefined;
}

/** Bound for this kubelet's value, or for its ratio to the Go kubelet's value. */
type Target = { readonly of: 'ratio' | 'ours' } & ({ readonly atMost: number } | { readonly atLeast: number });

const MB = 1e6;

type Row = readonly [name: string, unit: string, of: (turn: ProbesTurn) => number, target?: Target];

const ROWS: readonly Row[] = [
  ['CPU without probes', '%', ({ rest }) => rest.cpuShare * 100],
  ['CPU with probes', '%', ({ probing }) => probing.cpuShare * 100, { of: 'ratio', atMost: 0.6 }],
  ['CPU of the probes alone', '%', ({ rest, probing }) => (probing.cpuShare - rest.cpuShare) * 100],
  ['probes received', '%', ({ probing }) => (probing.came / probing.wanted) * 100, { of: 'ours', atLeast: 99 }],
  ['period error: median', 'ms', ({ probing }) => median(probing.periodErrorsMs)],
  [
    'period error: 99th percentile',
    'ms',
    ({ probing }) => quantile(probing.periodErrorsMs, 0.99),
    { of: 'ours', atMost: 20 },
  ],
  ['TIME_WAIT of the kubelet', '', ({ probing }) => probing.timeWaits.client, { of: 'ours', atMost: 0 }],
  ['TIME_WAIT of the server', '', ({ probing }) => probing.timeWaits.server, { of: 'ours', atMost: 0 }],
  [
    'serving until Ready, all at once: median',
    'ms',
    ({ readyAfterServing }) => median(readyAfterServing.atOnceMs),
    { of: 'ours', atMost: 100 },
  ],
  [
    'serving until Ready, all at once: 99th percentile',
    'ms',
    ({ readyAfterServing }) => quantile(readyAfterServing.atOnceMs, 0.99),
  ],
  [
    'serving until Ready, two a second: median',
    'ms',
    ({ readyAfterServing }) => median(readyAfterServing.pacedMs),
    { of: 'ours', atMost: 100 },
  ],
  [
    'serving until Ready, two a second: 99th percentile',
    'ms',
    ({ readyAfterServing }) => quantile(readyAfterServing.pacedMs, 0.99),
  ],
  ['RSS without probes', 'MB', ({ rest }) => rest.rssBytes / MB],
  [
    'RSS of the probes',
    'MB',
    ({ rest, probing }) => (probing.rssBytes - rest.rssBytes) / MB,
    { of: 'ours', atMost: 6 },
  ],
];

/** Compares the values of both kubelets. The turns must be in chronological order. */
export function probesFigures({ ours, go }: SideBySide<ProbesTurn>): readonly ProbesFigure[] {
  return ROWS.map(([name, unit, of, target]) => {
    const ratios = ours.flatMap((turn, index) => {
      const other = go[index];
      return other === undefined || target?.of !== 'ratio' ? [] : [of(turn) / of(other)];
    });
    return {
      ...{ name, unit, target, ours: median(ours.map(of)) },
      go: go.length === 0 ? undefined : median(go.map(of)),
      ratio: ratios.length === 0 ? undefined : median(ratios),
    };
  });
}

/** Returns whether a value meets its target; `undefined` if there is no target or no comparison. */
export function probesFigureMeets({ ours, ratio, target }: ProbesFigure): boolean | undefined {
  const value = target?.of === 'ratio' ? ratio : ours;
  if (target === undefined || value === undefined) return undefined;
  return 'atMost' in target ? value <= target.atMost : value >= target.atLeast;
}

export function probesTable(figures: readonly ProbesFigure[]): string {
  return renderTable(
    ['figure', 'Go', 'this', 'ratio', 'target', ''],
    figures.map((figure) => {
      const { name, unit, go, ours, ratio, target } = figure;
      const meets = probesFigureMeets(figure);
      return [
        ...[unit === '' ? name : `${name} [${unit}]`, rounded(go), rounded(ours), rounded(ratio)],
        target === undefined ? '' : targetText(target),
        verdict(meets),
      ];
    }),
  );
}

function targetText(target: Target): string {
  const bound = 'atMost' in target ? `<= ${target.atMost}` : `>= ${target.atLeast}`;
  return target.of === 'ratio' ? `ratio ${bound}` : bound;
}
