import { type Figure, meetsTarget } from './figures.ts';
import { renderTable } from './table.ts';

/** Formats the values as a table. */
export function tableOf(figures: readonly Figure[]): string {
  return renderTable(
    ['figure', 'bare', 'kubelet', 'ratio', 'target', ''],
    figures.map((figure) => [
      figure.unit === '' ? figure.name : `${figure.name} [${figure.unit}]`,
      rounded(figure.bare),
      rounded(figure.kubelet),
      rounded(figure.ratio),
      targetText(figure),
      { true: 'ok', false: 'MISS', undefined: '' }[`${meetsTarget(figure)}`],
    ]),
  );
}

/** Formats the values as JSON, with whether each meets its target. */
export function jsonOf(figures: readonly Figure[], run: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(
    { ...run, figures: figures.map((figure) => ({ ...figure, ok: meetsTarget(figure) })) },
    null,
    2,
  );
}

function targetText({ target }: Figure): string {
  if (target === undefined) return '';
  return `${target.of === 'ratio' ? 'ratio ' : ''}<= ${rounded(target.atMost)}`;
}

/** Rounds to three significant digits. */
function rounded(value: number | undefined): string {
  if (value === undefined) return '';
  if (!Number.isFinite(value)) return '?';
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}
