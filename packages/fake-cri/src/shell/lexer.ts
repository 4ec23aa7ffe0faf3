import { type Command, ShellSyntaxError, type Word, type WordPart } from './syntax.ts';

/** A token of shell text. */
export type Token =
  | { readonly kind: 'operator'; readonly text: string }
  | { readonly kind: 'word'; readonly word: Word; readonly raw: string };

const OPERATORS = ['&&', '||', ';;', '>>', '>&', '<<', ';', '&', '|', '(', ')', '>', '<', '\n'];
const BREAKS = new Set([' ', '\t', '\n', ';', '&', '|', '(', ')', '>', '<']);
const NAME = /^(?:[A-Za-z_][A-Za-z0-9_]*|[0-9]|[?$#!@*])/;

/**
 * Splits shell text into operators and words. `parse` parses the text inside `$(...)`.
 * @throws ShellSyntaxError if a quote or bracket is not closed
 */
export function tokenize(text: string, parse: (text: string) => Command): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const char = text.charAt(at);
    if (char === ' ' || char === '\t' || (char === '\\' && text[at + 1] === '\n')) {
      at += char === '\\' ? 2 : 1;
    } else if (char === '#') {
      while (at < text.length && text[at] !== '\n') at++;
    } else {
      const operator = OPERATORS.find((candidate) => text.startsWith(candidate, at));
      const descriptor = /^[12](?=>)/.exec(text.slice(at))?.[0];
      if (descriptor !== undefined) {
        tokens.push({ kind: 'operator', text: descriptor });
        at += 1;
      } else if (operator !== undefined) {
        tokens.push({ kind: 'operator', text: operator });
        at += operator.length;
      } else {
        const { word, end } = readWord(text, at, parse);
        tokens.push({ kind: 'word', word, raw: text.slice(at, end) });
        at = end;
      }
    }
  }
  return tokens;
}

function readWord(text: string, start: number, parse: (text: string) => Command): { word: Word; end: number } {
  const parts: WordPart[] = [];
  let literal = '';
  let quoted = false;
  let at = start;
  const flush = (): void => {
    if (literal !== '') parts.push({ kind: 'text', text: literal });
    literal = '';
  };
  const dollar = (inQuotes: boolean): void => {
    const { part, end } = readDollar(text, at, inQuotes, parse);
    if (part.kind === 'text') literal += part.text;
    else {
      flush();
      parts.push(part);
    }
    at = end;
  };
  while (at < text.length && !BREAKS.has(text.charAt(at))) {
    const char = text.charAt(at);
    if (char === "'") {
      const end = text.indexOf("'", at + 1);
      if (end < 0) throw new ShellSyntaxError('unterminated single quote');
      literal += text.slice(at + 1, end);
      quoted = true;
      at = end + 1;
    } else if (char === '"') {
      quoted = true;
      at += 1;
      while (text.charAt(at) !== '"') {
        if (at >= text.length) throw new ShellSyntaxError('unterminated double quote');
        if (text.charAt(at) === '$') dollar(true);
        else if (text.charAt(at) === '\\' && '$`"\\\n'.includes(text.charAt(at + 1))) {
          if (text.charAt(at + 1) !== '\n') literal += text.charAt(at + 1);
          at += 2;
        } else {
          if (text.charAt(at) === '`') throw new ShellSyntaxError('backquotes are not supported, use $(...)');
          literal += text.charAt(at);
          at += 1;
        }
      }
      at += 1;
    } else if (char === '\\') {
      literal += text.charAt(at + 1);
      quoted = true;
      at += 2;
    } else if (char === '$') {
      dollar(false);
    } else {
      if (char === '`') throw new ShellSyntaxError('backquotes are not supported, use $(...)');
      literal += char;
      at += 1;
    }
  }
  flush();
  return { word: { parts, quoted }, end: at };
}

function readDollar(
  text: string,
  at: number,
  quoted: boolean,
  parse: (text: string) => Command,
): { part: WordPart; end: number } {
  if (text.startsWith('$((', at)) {
    const end = text.indexOf('))', at);
    if (end < 0) throw new ShellSyntaxError('unterminated $((');
    return { part: { kind: 'arithmetic', text: text.slice(at + 3, end) }, end: end + 2 };
  }
  if (text.startsWith('$(', at)) {
    const end = matchingBracket(text, at + 1);
    return { part: { kind: 'command', body: parse(text.slice(at + 2, end)), quoted }, end: end + 1 };
  }
  if (text.startsWith('${', at)) {
    const end = text.indexOf('}', at);
    const inside = end < 0 ? '' : text.slice(at + 2, end);
    const name = NAME.exec(inside)?.[0];
    if (name === undefined) throw new ShellSyntaxError(`bad substitution: ${text.slice(at, end + 1)}`);
    const rest = inside.slice(name.length);
    if (rest === '') return { part: { kind: 'parameter', name, quoted }, end: end + 1 };
    if (!rest.startsWith(':-')) throw new ShellSyntaxError(`unsupported substitution: ${text.slice(at, end + 1)}`);
    const fallback: Word = { parts: [{ kind: 'text', text: rest.slice(2) }], quoted };
    return { part: { kind: 'parameter', name, quoted, fallback }, end: end + 1 };
  }
  const name = NAME.exec(text.slice(at + 1))?.[0];
  if (name === undefined) return { part: { kind: 'text', text: '$' }, end: at + 1 };
  return { part: { kind: 'parameter', name, quoted }, end: at + 1 + name.length };
}

function matchingBracket(text: string, open: number): number {
  let depth = 0;
  let quote = '';
  for (let at = open; at < text.length; at++) {
    const char = text.charAt(at);
    if (quote !== '') {
      if (char === quote) quote = '';
    } else if (char === "'" || char === '"') quote = char;
    else if (char === '(') depth++;
    else if (char === ')' && --depth === 0) return at;
  }
  throw new ShellSyntaxError('unterminated $(');
}
