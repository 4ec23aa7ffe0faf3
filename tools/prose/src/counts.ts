import { habitsOf } from './habits.ts';
import { sentencesOf, type Text, type TextKind } from './texts.ts';

/** A text with the repository path of its file. */
export interface CountedText extends Text {
  readonly file: string;
}

const COLUMNS: readonly TextKind[] = ['comment', 'test name', 'message', 'doc'];

/** Returns the package, app or tool that a file belongs to; `docs` for the documents and `.` for files at the top. */
export function unitOf(file: string): string {
  const [top = '', name] = file.split('/');
  if (name === undefined) return '.';
  return ['packages', 'apps', 'tools'].includes(top) ? name : top;
}

/**
 * Returns a table with a row per package and a column per kind of text. Each cell is "texts with a habit / all texts".
 */
export function countTable(texts: readonly CountedText[]): string {
  const rows = new Map<string, Map<TextKind, { habits: number; all: number }>>();
  for (const text of texts) {
    const carries = sentencesOf(text.text).some((sentence) => habitsOf(sentence).length > 0);
    for (const unit of [unitOf(text.file), 'all']) {
      const row = rows.get(unit) ?? new Map<TextKind, { habits: number; all: number }>();
      rows.set(unit, row);
      const cell = row.get(text.kind) ?? { habits: 0, all: 0 };
      row.set(text.kind, { habits: cell.habits + (carries ? 1 : 0), all: cell.all + 1 });
    }
  }
  const lines = [['package', ...COLUMNS.map((kind) => `${kind}s`)]];
  for (const [unit, row] of [...rows].sort(
    ([a], [b]) => Number(a === 'all') - Number(b === 'all') || a.localeCompare(b),
  )) {
    lines.push([
      unit,
      ...COLUMNS.map((kind) => {
        const { habits, all } = row.get(kind) ?? { habits: 0, all: 0 };
        return all === 0 ? '-' : `${habits} / ${all} (${((100 * habits) / all).toFixed(1)} %)`;
      }),
    ]);
  }
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0))) ?? [];
  return `${lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')}\n`;
}
