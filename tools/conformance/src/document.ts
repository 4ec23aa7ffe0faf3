import { cell } from './page.ts';
import { SELECTIONS, type SelectionName } from './selections.ts';
import { inARow, type Outcome, type Summary, specsOf, usualSeconds } from './summary.ts';

const HEAD = [
  '# Conformance',
  '',
  "What upstream's own end-to-end suites say of this kubelet. Written by `npm run conformance -- --selection NAME --docs`, each",
  'selection for itself: see [tools/conformance](../tools/conformance).',
  '',
];

/** A selection's part of the document, between two comments; the first has its numbers. */
interface Part {
  readonly summary: Summary;
  readonly text: string;
}

/** The parts of a document that this wrote. */
export function partsOf(document: string): ReadonlyMap<SelectionName, Part> {
  const parts = new Map<SelectionName, Part>();
  for (const name of Object.keys(SELECTIONS) as SelectionName[]) {
    const [, json, text] =
      new RegExp(`^<!-- ${name} (\\{.*\\}) -->\\n([\\s\\S]*?)^<!-- /${name} -->$`, 'm').exec(document) ?? [];
    if (json !== undefined && text !== undefined) parts.set(name, { summary: JSON.parse(json) as Summary, text });
  }
  return parts;
}

/** The document with one selection's part written anew; the others stay as they are. */
export function withPart(document: string, selection: SelectionName, summary: Summary, text: string): string {
  const parts = new Map(partsOf(document)).set(selection, { summary, text });
  const names = (Object.keys(SELECTIONS) as SelectionName[]).filter((name) => parts.has(name));
  const all = names.flatMap((name) => {
    const part = parts.get(name);
    return part === undefined ? [] : [{ name, ...part }];
  });
  return [
    ...HEAD,
    ...table(all.map((part) => part.summary)),
    ...all.flatMap((part) => [
      '',
      `<!-- ${part.name} ${JSON.stringify(part.summary)} -->`,
      part.text.trimEnd(),
      `<!-- /${part.name} -->`,
    ]),
    '',
  ].join('\n');
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
  if (last === undefined) throw new RangeError(`${title}: nothing was run`);
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
