import { rounded } from '../rounded.ts';
import type { SideBySide } from '../side-by-side.ts';
import { median, quantile } from '../statistics.ts';
import { renderTable } from '../table.ts';

/** Measurement of one case with one kubelet. */
export interface FaultOutcome {
  /** Name of the case. */
  readonly name: string;
  /** Time in ms of each other pod from its creation until it was Ready; infinite if it did not become Ready. */
  readonly othersMs: readonly number[];
  /** Number of restarts of the other pods' containers. None of these containers exits by itself. */
  readonly restarts: number;
  /**
   * Time in ms from the fault until the pods with claims were Ready, or gone with their mounts; infinite if they did not
   * recover.
   */
  readonly recoveryMs: number;
  /** Number of mounts and directories that were left after all pods had been deleted. */
  readonly left: number;
}

/** Outcomes of all cases, in the order of the cases. */
export type FaultsTurn = readonly FaultOutcome[];

/** Values of one case with one kubelet. */
interface FaultValues {
  readonly medianMs: number;
  readonly p99Ms: number;
  readonly restarts: number;
  readonly recoveryMs: number;
  readonly left: number;
}

/** Values of one case with both kubelets. */
export interface FaultFigure {
  readonly name: string;
  /** Undefined without a Go kubelet. */
  readonly go: FaultValues | undefined;
  readonly ours: FaultValues;
}

/**
 * Compares both kubelets in each case. The other pods of all turns count together. The recovery is the median of the
 * turns; `restarts` and `left` are sums.
 */
export function faultFigures({ ours, go }: SideBySide<FaultsTurn>): readonly FaultFigure[] {
  const names = ours[0]?.map(({ name }) => name) ?? [];
  return names.map((name) => ({
    name,
    go: go.length === 0 ? undefined : valuesOf(outcomesOf(name, go)),
    ours: valuesOf(outcomesOf(name, ours)),
  }));
}

function outcomesOf(name: string, turns: readonly FaultsTurn[]): readonly FaultOutcome[] {
  return turns.flatMap((turn) => turn.filter((outcome) => outcome.name === name));
}

/** Joins the outcomes of one case with one kubelet. */
function valuesOf(outcomes: readonly FaultOutcome[]): FaultValues {
  const othersMs = outcomes.flatMap((outcome) => outcome.othersMs);
  return {
    medianMs: finiteOrNever(quantile(othersMs, 0.5)),
    p99Ms: finiteOrNever(quantile(othersMs, 0.99)),
    restarts: sumOf(outcomes.map(({ restarts }) => restarts)),
    recoveryMs: finiteOrNever(median(outcomes.map(({ recoveryMs }) => recoveryMs))),
    left: sumOf(outcomes.map(({ left }) => left)),
  };
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** Between two infinite values, `quantile` interpolates to NaN. */
function finiteOrNever(value: number): number {
  return Number.isNaN(value) ? Number.POSITIVE_INFINITY : value;
}

const COLUMNS: readonly (readonly [name: string, of: (values: FaultValues) => number])[] = [
  ['others, median [ms]', ({ medianMs }) => Math.round(medianMs)],
  ['p99 [ms]', ({ p99Ms }) => Math.round(p99Ms)],
  ['restarts', ({ restarts }) => restarts],
  ['recovery [s]', ({ recoveryMs }) => recoveryMs / 1_000],
  ['left', ({ left }) => left],
];

/** Formats the values, with a column of each kubelet for each value. */
export function faultTable(figures: readonly FaultFigure[]): string {
  const heading = COLUMNS.flatMap(([name]) => [`${name}: Go`, 'this']);
  const rows = figures.map(({ name, go, ours }) => [
    name,
    ...COLUMNS.flatMap(([, of]) => [go === undefined ? '' : text(of(go)), text(of(ours))]),
  ]);
  return renderTable(['case', ...heading], rows);
}

function text(value: number): string {
  return Number.isFinite(value) ? rounded(value) : 'never';
}
