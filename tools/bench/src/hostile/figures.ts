import { renderTable } from '../table.ts';
import type { Harm } from './turn.ts';

/** One value of one kind of pods, for both kubelets. */
export interface HostileFigure {
  readonly kind: string;
  readonly figure: string;
  readonly go: number | undefined;
  readonly ours: number;
  /** Ratio of this kubelet's value to the Go kubelet's, if both are finite and positive. */
  readonly ratio: number | undefined;
}

const FIGURES: readonly (readonly [name: string, of: (harm: Harm) => number])[] = [
  ['peak memory growth [MB]', ({ peakBytes }) => peakBytes / 1e6],
  ['CPU [s]', ({ cpuSeconds }) => cpuSeconds],
  ['another pod, create to Ready [ms]', ({ otherReadyMs }) => otherReadyMs],
  ['deletion until gone [s]', ({ goneMs }) => goneMs / 1000],
];

/** Returns the values of both kubelets by kind. The Go kubelet's values are undefined if it was not measured. */
export function hostileFigures(
  ours: ReadonlyMap<string, Harm>,
  go: ReadonlyMap<string, Harm> | undefined,
): readonly HostileFigure[] {
  return [...ours].flatMap(([kind, harm]) =>
    FIGURES.map(([figure, of]) => {
      const theirs = go?.get(kind);
      const values = { go: theirs && of(theirs), ours: of(harm) };
      return { kind, figure, ...values, ratio: ratioOf(values.ours, values.go) };
    }),
  );
}

/**
 * Returns the ratio, or undefined if a value is zero or negative. A negative value is possible, because the values are
 * differences to an earlier measurement.
 */
function ratioOf(ours: number, go: number | undefined): number | undefined {
  if (go === undefined || !(go > 0) || !(ours > 0)) return undefined;
  const ratio = ours / go;
  return Number.isFinite(ratio) ? ratio : undefined;
}

/** Formats the values in groups by kind. */
export function hostileTable(figures: readonly HostileFigure[]): string {
  const rows = figures.map(({ kind, figure, go, ours, ratio }, index) => [
    `${figures[index - 1]?.kind === kind ? ' '.repeat(kind.length) : kind}  ${figure}`,
    rounded(go),
    rounded(ours),
    rounded(ratio),
  ]);
  return renderTable(['pods', 'Go', 'this', 'ratio'], rows);
}

function rounded(value: number | undefined): string {
  if (value === undefined) return '';
  if (!Number.isFinite(value)) return 'never';
  return value.toFixed(Math.abs(value) >= 100 ? 0 : 2);
}
