import { median } from '../statistics.ts';
import { renderTable } from '../table.ts';

/** What became of pressure of one kind in one turn. */
export interface PressureOutcome {
  /** From the crossing of the threshold to the first signal of the first pod that was told to end, or the first image's removal; absent: it never was. */
  readonly answerMs: number | undefined;
  /** The pods that were told to end, in that order: by what they are, `hog` or the class of a bystander. */
  readonly order: readonly string[];
  /** Of the pods that did no harm: those evicted, killed by the kernel, or that could not write. */
  readonly suffered: readonly string[];
  /** How often the kernel's OOM killer came first. */
  readonly oomKills: number;
  /** The least that was left of it, in bytes. */
  readonly leastBytes: number;
}

/** What became of it in all turns of a kubelet. */
interface PressureSummary {
  /** The median of the times; absent where half of the turns or more had no answer. */
  readonly answerMs: number | undefined;
  /** Each order in which pods were told to end, once. */
  readonly orders: readonly (readonly string[])[];
  /** Whoever suffered in any turn. */
  readonly suffered: readonly string[];
  /** The most of any turn. */
  readonly oomKills: number;
  /** The least of all turns. */
  readonly leastBytes: number;
}

export interface PressureFigure {
  readonly kind: string;
  readonly go: PressureSummary | undefined;
  readonly ours: PressureSummary;
  /** Ours over Go's, of the medians of the times to the first signal. */
  readonly ratio: number | undefined;
}

/** What became of each kind in one turn, by its name. */
export type PressureTurn = ReadonlyMap<string, PressureOutcome>;

/** @param go its turns; none where it was not measured */
export function pressureFigures(ours: readonly PressureTurn[], go: readonly PressureTurn[]): readonly PressureFigure[] {
  const kinds = [...new Set(ours.flatMap((turn) => [...turn.keys()]))];
  return kinds.flatMap((kind) => {
    const [own, theirs] = [summary(kind, ours), summary(kind, go)];
    if (own === undefined) return [];
    const ratio = own.answerMs !== undefined && theirs?.answerMs ? own.answerMs / theirs.answerMs : undefined;
    return [{ kind, go: theirs, ours: own, ratio }];
  });
}

function summary(kind: string, turns: readonly PressureTurn[]): PressureSummary | undefined {
  const outcomes = turns.flatMap((turn) => turn.get(kind) ?? []);
  if (outcomes.length === 0) return undefined;
  // What was never answered took longer than all else.
  const middle = median(outcomes.map(({ answerMs = Number.POSITIVE_INFINITY }) => answerMs));
  const orders = new Map(outcomes.map(({ order }) => [order.join(), order]));
  return {
    answerMs: Number.isFinite(middle) ? middle : undefined,
    orders: [...orders.values()],
    suffered: [...new Set(outcomes.flatMap(({ suffered }) => suffered))],
    oomKills: Math.max(...outcomes.map(({ oomKills }) => oomKills)),
    leastBytes: Math.min(...outcomes.map(({ leastBytes }) => leastBytes)),
  };
}

/** What both came to under the name of each kind. */
export function pressureTable(figures: readonly PressureFigure[]): string {
  const rows = figures.flatMap(({ kind, go, ours, ratio }) => [
    [
      `${kind}: to the first signal [ms]`,
      rounded(go, go?.answerMs),
      rounded(ours, ours.answerMs),
      ratio?.toFixed(2) ?? '',
    ],
    ['  who was told to end', ordersText(go), ordersText(ours), ''],
    ['  who else suffered', list(go?.suffered), list(ours.suffered), ''],
    ['  kills by the kernel', String(go?.oomKills ?? ''), String(ours.oomKills), ''],
    ['  least that was left [MB]', megabytes(go?.leastBytes), megabytes(ours.leastBytes), ''],
  ]);
  return renderTable(['pressure', 'Go', 'this', 'ratio'], rows);
}

function ordersText(summary: PressureSummary | undefined): string {
  return (summary?.orders ?? []).map(list).join(' or ');
}

function rounded(outcome: PressureSummary | undefined, value: number | undefined): string {
  if (outcome === undefined) return '';
  return value === undefined ? 'never' : value.toFixed(0);
}

function list(names: readonly string[] | undefined): string {
  if (names === undefined) return '';
  return names.length === 0 ? 'nobody' : names.join(', ');
}

function megabytes(bytes: number | undefined): string {
  return bytes === undefined ? '' : (bytes / 1e6).toFixed(0);
}
