import { cell } from './page.ts';
import { SELECTIONS, type SelectionName } from './selections.ts';
import { inARow, type Outcome, type Summary, specsOf, usualSeconds } from './summary.ts';

const HEAD = [
  '# Conformance',
  '',
  "Results of upstream's end-to-end suites with this kubelet. `npm run conformance -- --selection NAME --docs` writes the part of",
  'one selection: see [tools/conformance](../../tools/conformance). The numbers are in [conformance.json](conformance.json).',
  '',
];

/** The numbers of each selection: content of the JSON file beside the document. */
export type DocumentData = Partial<Record<SelectionName, Summary>>;

/** The document and its numbers, both as file content. */
export interface ConformanceDocument {
  /** Markdown. The text of each selection stands between two comments that name the selection. */
  readonly page: string;
  /** JSON: {@link DocumentData}. */
  readonly data: string;
}

/** Parses the numbers. @param data the JSON file's content; empty for a new document */
export function parseData(data: string): DocumentData {
  return data.trim() === '' ? {} : (JSON.parse(data) as DocumentData);
}

/** Replaces the section of one selection of specs in the document. The other sections stay as they are. */
export function withPart(
  { page, data }: ConformanceDocument,
  selection: SelectionName,
  summary: Summary,
  text: string,
): ConformanceDocument {
  const before = parseData(data);
  const parts = (Object.keys(SELECTIONS) as SelectionName[]).flatMap((name) => {
    if (name === selection) return [{ name, summary, text }];
    const [, kept] = new RegExp(`^<!-- ${name} -->\\n([\\s\\S]*?)^<!-- /${name} -->$`, 'm').exec(page) ?? [];
    const numbers = before[name];
    return kept === undefined || numbers === undefined ? [] : [{ name, summary: numbers, text: kept }];
  });
  const summaries = Object.fromEntries(parts.map((part) => [part.name, part.summary]));
  return {
    page: [
      ...HEAD,
      ...table(parts.map((part) => part.summary)),
      ...parts.flatMap((part) => ['', `<!-- ${part.name} -->`, part.text.trimEnd(), `<!-- /${part.name} -->`]),
      '',
    ].join('\n'),
    data: `${JSON.stringify(summaries, undefined, 2)}\n`,
  };
}

const COUNTED: readonly Outcome[] = ['passed', 'failed', 'impossible', 'skipped'];

function table(summaries: readonly Summary[]): string[] {
  return [
    '| suite | commit | specs | passed | failed | impossible here | skipped | runs in a row without a failure | wall time | Go kubelet: passed, wall time | ratio |',
    `| --- | --- |${' ---: |'.repeat(9)}`,
    ...summaries.map(row),
  ];
}

function row(summary: Summary): string {
  const { title, turns, compared } = summary;
  const last = turns.at(-1);
  if (last === undefined) throw new RangeError(`${title}: has no run`);
  const seconds = usualSeconds(summary);
  const cells = [
    cell(title),
    last.commit,
    specsOf(last),
    ...COUNTED.map((outcome) => last.counts[outcome]),
    `${inARow(summary)} of ${turns.length}`,
    `${seconds} s`,
    compared === undefined ? 'not run' : `${compared.counts.passed}, ${compared.seconds} s`,
    compared === undefined ? '' : (seconds / compared.seconds).toFixed(2),
  ];
  return `| ${cells.join(' | ')} |`;
}
