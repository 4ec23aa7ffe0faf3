import type { Comparison, Judged } from './compare.ts';
import type { Json } from './differences.ts';

const LONGEST = 300;

/** Formats the differences as paragraphs, followed by a summary line. */
export function report({ pods, values, differences }: Comparison, all: boolean): string {
  const known = differences.filter(({ purpose }) => purpose !== undefined);
  const unknown = differences.filter(({ purpose }) => purpose === undefined);
  const shown = all ? [...unknown, ...known] : unknown;
  const sum = `${pods} pods, ${values} values: ${unknown.length} unexpected and ${known.length} intended differences`;
  return `${[...shown.map(paragraph), sum].join('\n')}\n`;
}

function paragraph({ of, path, go, ours, purpose }: Judged): string {
  const why = purpose === undefined ? '' : `\n  (${purpose.why})`;
  return `${of}: ${path}\n  Go:   ${short(go)}\n  here: ${short(ours)}${why}`;
}

function short(value: Json | undefined): string {
  if (value === undefined) return '-';
  const text = JSON.stringify(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
