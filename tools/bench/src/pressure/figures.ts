import { median } from '../statistics.ts';
import { renderTable } from '../table.ts';

/** Outcome of one kind of pressure in one turn. */
export interface PressureOutcome {
  /**
   * Time in ms from crossing the threshold until the first pod was terminated or the first image was removed; undefined
   * if neither happened.
   */
  readonly answerMs: number | undefined;
  /** Terminated pods in order: `hog`, or the QoS class of a bystander. */
  readonly order: readonly string[];
  /** Bystanders that were evicted, were OOM-killed or could not write. */
  readonly suffered: readonly string[];
  /** Number of OOM kills by the kernel before an eviction. */
  readonly oomKills: number;
  /** Minimum of the available memory or disk, in bytes. */
  readonly leastBytes: number;
}

/** Outcomes of one kind in all turns of a kubelet. */
interface PressureSummary {
  /** Median of the response times in ms. Undefined if at least half of the turns had no response. */
  readonly answerMs: number | undefined;
  /** Distinct orders in which pods were terminated. */
  readonly orders: readonly (readonly string[])[];
  /** Bystanders that were affected in any turn. */
  readonly suffered: readonly string[];
  /** Maximum number of OOM kills of all turns. */
  readonly oomKills: number;
  /** Minimum of the available memory or disk of all turns, in bytes. */
  readonly leastBytes: number;
}

export interface PressureFigure {
  readonly kind: string;
  readonly go: PressureSummary | undefined;
  readonly ours: PressureSummary;
  /** Ratio of this kubelet's median time to the Go kubelet's. */
  readonly ratio: number | undefined;
}

/** Outcomes of one turn by kind. */
export type PressureTurn = ReadonlyMap<string, PressureOutcome>;

/** Summarises the turns of both kubelets. @param go turns of the Go kubelet; empty if it was not measured */
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
  // The time of a turn without a response counts as infinite.
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

/** Formats the summaries of both kubelets in groups by kind. */
export function pressureTable(figures: readonly PressureFigure[]): string {
  const rows = figures.flatMap(({ kind, go, ours, ratio }) => [
    [
      `${kind}: threshold to first signal [ms]`,
      rounded(go, go?.answerMs),
      rounded(ours, ours.answerMs),
      ratio?.toFixed(2) ?? '',
    ],
    ['  terminated pods, in order', ordersText(go), ordersText(ours), ''],
    ['  other affected pods', list(go?.suffered), list(ours.suffered), ''],
    ['  OOM kills by the kernel', String(go?.oomKills ?? ''), String(ours.oomKills), ''],
    ['  minimum available [MB]', megabytes(go?.leastBytes), megabytes(ours.leastBytes), ''],
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
  return names.length === 0 ? 'none' : names.join(', ');
}

function megabytes(bytes: number | undefined): string {
  return bytes === undefined ? '' : (bytes / 1e6).toFixed(0);
}
