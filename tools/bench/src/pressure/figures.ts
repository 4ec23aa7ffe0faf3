import { renderTable } from '../table.ts';

/** What became of pressure of one kind. */
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

export interface PressureFigure {
  readonly kind: string;
  readonly go: PressureOutcome | undefined;
  readonly ours: PressureOutcome;
  /** Ours over Go's, of the times to the first signal. */
  readonly ratio: number | undefined;
}

export function pressureFigures(
  ours: ReadonlyMap<string, PressureOutcome>,
  go: ReadonlyMap<string, PressureOutcome> | undefined,
): readonly PressureFigure[] {
  return [...ours].map(([kind, outcome]) => {
    const theirs = go?.get(kind);
    const { answerMs } = outcome;
    const ratio =
      answerMs !== undefined && theirs?.answerMs !== undefined && theirs.answerMs > 0
        ? answerMs / theirs.answerMs
        : undefined;
    return { kind, go: theirs, ours: outcome, ratio };
  });
}

/** The outcomes of both under the name of each kind. */
export function pressureTable(figures: readonly PressureFigure[]): string {
  const rows = figures.flatMap(({ kind, go, ours, ratio }) => [
    [
      `${kind}: to the first signal [ms]`,
      rounded(go, go?.answerMs),
      rounded(ours, ours.answerMs),
      ratio?.toFixed(2) ?? '',
    ],
    ['  who was told to end', list(go?.order), list(ours.order), ''],
    ['  who else suffered', list(go?.suffered), list(ours.suffered), ''],
    ['  kills by the kernel', String(go?.oomKills ?? ''), String(ours.oomKills), ''],
    ['  least that was left [MB]', megabytes(go?.leastBytes), megabytes(ours.leastBytes), ''],
  ]);
  return renderTable(['pressure', 'Go', 'this', 'ratio'], rows);
}

function rounded(outcome: PressureOutcome | undefined, value: number | undefined): string {
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
