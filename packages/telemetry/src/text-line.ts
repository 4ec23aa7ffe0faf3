import { errorText } from './error-text.ts';

/** A log line before formatting. */
export interface TextLine {
  /** Severity: info, warning or error. */
  readonly severity: 'I' | 'W' | 'E';
  /** Wall clock time, in ms, with a fraction. */
  readonly atMs: number;
  readonly pid: number;
  /** Source file that logs the line, or the component if the file is not known. */
  readonly source: string;
  /** Line in the source file. Default: 1. */
  readonly lineNumber?: number;
  readonly message: string;
  /** Fields in output order. `undefined` values are omitted. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/**
 * Formats a line as klog does: `I1122 10:48:00.000000 12345 pleg.ts:71] "Pod changed" podUid="u1"`, in local time. A
 * multi-line value is written as `key=<`, its lines indented by a tab, and ` >`, so that none of its lines can be
 * mistaken for a log line.
 * Source: `k8s.io/klog/v2` (`textlogger`, `internal/buffer`, `internal/serialize`).
 */
export function textLine({ severity, atMs, pid, source, lineNumber = 1, message, fields }: TextLine): string {
  let line = `${severity}${stamp(atMs)} ${String(pid).padStart(7)} ${source.replace(/[\s\]:]+/g, '_')}:${lineNumber}] ${quote(message)}`;
  for (const [key, value] of Object.entries(fields)) if (value !== undefined) line += ` ${key}${valueText(value)}`;
  return `${line}\n`;
}

function stamp(atMs: number): string {
  const at = new Date(atMs);
  const two = (value: number): string => String(value).padStart(2, '0');
  const micros = Math.floor((atMs - Math.floor(atMs / 1000) * 1000) * 1000);
  const date = `${two(at.getMonth() + 1)}${two(at.getDate())}`;
  return `${date} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${String(micros).padStart(6, '0')}`;
}

function valueText(value: unknown): string {
  if (typeof value === 'string') return stringValue(value);
  return `=${jsonOf(value)}`;
}

function stringValue(text: string): string {
  if (!text.includes('\n')) return `=${quote(text)}`;
  const lines = text.endsWith('\n') ? text.slice(0, -1) : text;
  return `=<\n${lines
    .split('\n')
    .map((line) => `\t${line}\n`)
    .join('')} >`;
}

function jsonOf(value: unknown): string {
  try {
    // Values that JSON cannot represent (a bigint, a function) are written with JavaScript's `String()`.
    return (
      JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? String(part) : part)) ??
      quote(String(value))
    );
  } catch (error) {
    return quote(errorText(error));
  }
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '\\"'],
  ['\\', '\\\\'],
  ['\x07', '\\a'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\v', '\\v'],
]);

/** Matches quotes, backslashes and all characters other than printable ASCII. */
const NEEDS_ESCAPES = /[^ !#-[\]-~]/;

/** Quotes a text as Go's `strconv.Quote` does: non-printable characters are escaped. */
export function quote(text: string): string {
  if (!NEEDS_ESCAPES.test(text)) return `"${text}"`;
  const escaped = text.toWellFormed().replace(/["\\]|[\p{C}\p{Z}]/gu, (char) => {
    if (char === ' ') return char;
    const known = ESCAPES.get(char);
    if (known !== undefined) return known;
    const code = char.codePointAt(0) ?? 0;
    if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`;
    if (code < 0x10000) return `\\u${code.toString(16).padStart(4, '0')}`;
    return `\\U${code.toString(16).padStart(8, '0')}`;
  });
  return `"${escaped}"`;
}
