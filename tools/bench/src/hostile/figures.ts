import { renderTable } from '../table.ts';
import type { Harm } from './turn.ts';

/** One figure of one kind of pods, for both kubelets. */
export interface HostileFigure {
  readonly kind: string;
  readonly figure: string;
  readonly go: number | undefined;
  readonly ours: number;
  /** Ours over Go's, where both came to an end and cost anything. */
  readonly ratio: number | undefined;
}

const FIGURES: readonly (readonly [name: string, of: (harm: Harm) => number])[] = [
  ['memory, at most [MB]', ({ peakBytes }) => peakBytes / 1e6],
  ['CPU [s]', ({ cpuSeconds }) => cpuSeconds],
  ['another pod, create to Ready [ms]', ({ otherReadyMs }) => otherReadyMs],
  ['until they are gone [s]', ({ goneMs }) => goneMs / 1000],
];

/** What both kubelets bore, kind by kind; Go's figures are absent where it was not measured. */
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

/** What is measured against what was before may come out at nothing, or less: then there is none. */
function ratioOf(ours: number, go: number | undefined): number | undefined {
  if (go === undefined || !(go > 0) || !(ours > 0)) return undefined;
  const ratio = ours / go;
  return Number.isFinite(ratio) ? ratio : undefined;
}

/** The figures under the name of each kind. */
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
