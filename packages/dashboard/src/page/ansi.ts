import { plain } from './plain.ts';

/** A part of a log line with one style. */
export interface Span {
  readonly text: string;
  /** CSS classes: `bold`, `dim`, `fg1` to `fg15`; empty for plain text. */
  readonly style: string;
}

/** A control sequence (ECMA-48): CSI, OSC and similar strings up to their end, or two characters. */
const SEQUENCE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the sequences consist of control characters
  /\u001B(?:\[([0-9;:?<=>]*)[ -/]*([@-~])|[\]PX^_][^\u0007\u001B]*(?:\u0007|\u001B\\|$)|[ -/]*[0-~]|$)|\u009B([0-9;]*)([@-~])/g;

/**
 * Splits a log line at its ANSI control sequences. Colours and weight become styles; all other sequences are dropped,
 * so that a log cannot move the cursor, set a title or place a link.
 */
export function ansiSpans(line: string): readonly Span[] {
  const spans: Span[] = [];
  let style: Style = NONE;
  let from = 0;
  const add = (to: number): void => {
    const text = plain(line.slice(from, to));
    if (text !== '') spans.push({ text, style: classesOf(style) });
  };
  for (const match of line.matchAll(SEQUENCE)) {
    add(match.index);
    from = match.index + match[0].length;
    if ((match[2] ?? match[4]) === 'm') style = styled(style, match[1] ?? match[3] ?? '');
  }
  add(line.length);
  return spans;
}

interface Style {
  readonly bold: boolean;
  readonly dim: boolean;
  /** Index of the 16 colours; absent for the default colour. */
  readonly color?: number | undefined;
}

const NONE: Style = { bold: false, dim: false };

/** Applies the parameters of a "select graphic rendition" sequence. */
function styled(before: Style, parameters: string): Style {
  let style = before;
  const codes = parameters.split(/[;:]/).map(Number);
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0;
    if (code === 0) style = NONE;
    else if (code === 1) style = { ...style, bold: true };
    else if (code === 2) style = { ...style, dim: true };
    else if (code === 22) style = { ...style, bold: false, dim: false };
    else if (code >= 30 && code <= 37) style = { ...style, color: code - 30 };
    else if (code >= 90 && code <= 97) style = { ...style, color: code - 82 };
    else if (code === 39) style = { ...style, color: undefined };
    // 256 colours and true colours have additional parameters. The first 16 of the 256 are the usual colours.
    else if (code === 38 || code === 48) {
      const index = codes[at + 2] ?? 16;
      if (code === 38 && codes[at + 1] === 5 && index < 16) style = { ...style, color: index };
      at += codes[at + 1] === 2 ? 4 : 2;
    }
  }
  return style;
}

function classesOf({ bold, dim, color }: Style): string {
  return [bold ? 'bold' : '', dim ? 'dim' : '', color === undefined ? '' : `fg${color}`].filter(Boolean).join(' ');
}
