import { printableLine } from '@node-agent/telemetry';

/** Columns are separated by this many spaces, as in kubectl's tables. */
const GAP = 3;

/**
 * Renders a table. Cells are escaped, so that text of a pod or node can neither draw on the terminal nor add a row. The
 * last column is not padded. An empty cell is shown as `-`. Cells may be of any type, because responses are not
 * validated.
 */
export function renderTable(header: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const cells = rows.map((row) => header.map((_, column) => printableLine(String(row[column] ?? '')) || '-'));
  const lines = header.length === 0 ? cells : [header, ...cells];
  // A call with one argument per row would fail for very many rows.
  const widths = header.map((_, column) => lines.reduce((most, line) => Math.max(most, width(line[column] ?? '')), 0));
  return lines
    .map((line) => {
      const padded = line.map((cell, column) =>
        column === line.length - 1 ? cell : cell + ' '.repeat((widths[column] ?? 0) - width(cell) + GAP),
      );
      return `${padded.join('')}\n`;
    })
    .join('');
}

/** Counts characters; characters of double width are rare in names and count once. */
function width(text: string): number {
  return [...text].length;
}
