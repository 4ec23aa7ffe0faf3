/** The value of a flag, or the problem of its text. */
export type Parsed<T> =
  | { readonly value: T; readonly problem?: never }
  | { readonly value?: never; readonly problem: string };

const TRUE: ReadonlySet<string> = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);
const FALSE: ReadonlySet<string> = new Set(['0', 'f', 'F', 'false', 'FALSE', 'False']);

/** Parses a boolean as Go's `strconv.ParseBool` does. */
export function parseBoolean(text: string): Parsed<boolean> {
  if (TRUE.has(text)) return { value: true };
  if (FALSE.has(text)) return { value: false };
  return { problem: 'must be true or false' };
}

const INTEGER = /^([+-]?)(0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)$/;
const GROUPED = /^[+-]?(?:0[xXoObB]_?)?[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*$/;

/** Parses an integer as Go's `strconv.ParseInt` with base 0 does: decimal, `0x1f`, `0o17`, `017`, `0b1`, `1_000`. */
export function parseInteger(text: string): Parsed<number> {
  const problem = { problem: 'must be a whole number' };
  if (!GROUPED.test(text)) return problem;
  const match = INTEGER.exec(text.replaceAll('_', ''));
  if (match === null) return problem;
  const [, sign, digits = ''] = match;
  const octal = /^0[0-7]+$/.test(digits);
  const value = Number(BigInt(octal ? `0o${digits}` : digits));
  return Number.isSafeInteger(value) ? { value: sign === '-' ? 0 - value : value } : problem;
}

/** Parses an integer as Go's `strconv.ParseUint` with base 10 does: digits only. */
export function parseDecimal(text: string): Parsed<number> {
  const value = Number(text);
  return /^\d+$/.test(text) && Number.isSafeInteger(value) ? { value } : { problem: 'must be a whole number' };
}

/**
 * Splits a list at its commas. Items that contain a comma are in double quotes (`a,"b,c"`). An empty text has no items.
 */
export function parseCommaList(text: string): Parsed<readonly string[]> {
  if (text === '') return { value: [] };
  const parts: string[] = [];
  let rest = text;
  for (;;) {
    const match = /^(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/.exec(rest);
    if (match === null) return { problem: 'has a double quote in the wrong place' };
    const [whole, quoted, plain, end] = match;
    parts.push(quoted === undefined ? (plain ?? '') : quoted.replaceAll('""', '"'));
    if (end === '') return { value: parts };
    rest = rest.slice(whole.length);
  }
}

/** Parses pairs separated by commas: `a=b,c=d`. Spaces around keys and values are removed, empty parts are skipped. */
export function parsePairs(text: string, separator: '=' | '<' | ':'): Parsed<readonly (readonly [string, string])[]> {
  const pairs: [string, string][] = [];
  for (const part of text.split(',')) {
    if (part === '') continue;
    const pair = splitPair(part, separator);
    if (pair === undefined) return { problem: `must be pairs of the form key${separator}value, with commas between` };
    pairs.push(pair);
  }
  return { value: pairs };
}

/** Splits `key=value` at the first separator. */
export function splitPair(text: string, separator: string): [string, string] | undefined {
  const at = text.indexOf(separator);
  return at < 0 ? undefined : [text.slice(0, at).trim(), text.slice(at + separator.length).trim()];
}
