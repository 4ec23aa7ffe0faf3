import { PodRuntimeError } from '../errors.ts';

/** Returns the value of a variable; `undefined` if it is not defined. */
export type FileVariables = (key: string) => string | undefined;

/**
 * Parses a file of environment variables (KEP-3721): lines `NAME='value'`. A value may span lines and is taken
 * literally; `#` starts a comment. Blanks between `=` and the quote make the value empty, as in a shell. The file is
 * parsed lazily, up to the first definition of a requested variable. Upstream: `pkg/kubelet/util/env/env_util.go`.
 * @returns a function that throws PodRuntimeError `InvalidSpec` with the line number if an invalid line comes before
 * the definition
 */
export function variablesOfFile(text: string): FileVariables {
  const rest = definitions(text);
  const known = new Map<string, string>();
  let fault: unknown;
  const readOn = (): boolean => {
    if (fault !== undefined) throw fault;
    try {
      const { value: definition, done } = rest.next();
      if (definition !== undefined && !known.has(definition.name)) known.set(definition.name, definition.value);
      return done !== true;
    } catch (err) {
      fault = err;
      throw err;
    }
  };
  return (key) => {
    for (let more = true; more && !known.has(key); ) more = readOn();
    return known.get(key);
  };
}

interface Definition {
  readonly name: string;
  readonly value: string;
}

function* definitions(text: string): Generator<Definition, undefined> {
  const lines = text.split('\n').map((line) => line.replace(/\r$/, ''));
  for (let at = 0; at < lines.length; at++) {
    const line = (lines[at] ?? '').replace(/^[ \t]+/, '');
    if (line === '' || line.startsWith('#')) continue;
    const equals = line.indexOf('=');
    if (equals < 0) throw invalid(at, "missing '='");
    const name = line.slice(0, equals);
    if (/^[ \t]*$/.test(name)) throw invalid(at, 'empty variable name');
    if (/[ \t]$/.test(name)) throw invalid(at, "whitespace before '=' is not allowed");
    const rest = line.slice(equals + 1);
    if (/^[ \t]/.test(rest)) {
      yield { name, value: '' };
      continue;
    }
    if (!rest.startsWith("'")) throw invalid(at, 'value must be enclosed in single quotes');
    const quoted = quotedValue(lines, at, rest.slice(1));
    yield { name, value: quoted.value };
    at = quoted.lastLine;
  }
}

/** Returns the text between the quotes, which may span lines, and the index of its last line. */
function quotedValue(
  lines: readonly string[],
  first: number,
  begin: string,
): { readonly value: string; readonly lastLine: number } {
  let value = '';
  let rest = begin;
  for (let at = first; ; ) {
    const end = rest.indexOf("'");
    if (end >= 0) {
      if (!/^[ \t]*(#|$)/.test(rest.slice(end + 1))) throw invalid(at, 'unexpected content after closing quote');
      return { value: value + rest.slice(0, end), lastLine: at };
    }
    value += `${rest}\n`;
    at++;
    if (at >= lines.length) throw invalid(first, 'unclosed single quote', 'starting at');
    rest = lines[at] ?? '';
  }
}

function invalid(index: number, what: string, where = 'at'): PodRuntimeError {
  const fault = `invalid environment variable format ${where} line ${index + 1}: ${what}`;
  return new PodRuntimeError('InvalidSpec', `couldn't parse env file: ${fault}`);
}
