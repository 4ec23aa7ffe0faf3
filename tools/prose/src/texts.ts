import { type Comment, parseSync } from 'oxc-parser';

/** The kinds of text that a person reads in this repository. */
export type TextKind = 'comment' | 'test name' | 'message' | 'doc';

/** One piece of text with its place in the file. */
export interface Text {
  readonly kind: TextKind;
  /** The text without comment marks, quotes and indentation. A template literal keeps its `${...}`. */
  readonly text: string;
  /** Offset of the first character of the comment, literal or paragraph. */
  readonly start: number;
  /** Offset behind the last character. */
  readonly end: number;
  /** Line of `start`, counted from 1. */
  readonly line: number;
}

/** Comments that give an instruction to a tool, which no one reads as prose. */
const DIRECTIVE = /^\s*(biome-ignore|@ts-|@vitest|eslint|v8 |c8 |istanbul|#|<reference|@__PURE__|prettier)/;
/** Names of the functions whose first argument is the name of a test or of a group of tests. */
const TEST_FUNCTIONS = new Set(['it', 'test', 'describe', 'scenario', 'suite']);
/** Properties of these functions that return such a function again: `it.each`, `describe.skipIf`. */
const MODIFIERS = new Set([
  'concurrent',
  'each',
  'fails',
  'for',
  'only',
  'runIf',
  'sequential',
  'skip',
  'skipIf',
  'todo',
]);
/** The shortest string that counts as a message, in words. Shorter strings are mostly identifiers and values. */
const MESSAGE_WORDS = 4;
/** Minimum number of plain words in a message: a template of placeholders and punctuation is no message. */
const PLAIN_WORDS = 2;
/** Matches code in another language, or a generated line of TypeScript, which is no text for readers. */
const CODE = /^\s*(?:import|export) .*\bfrom ['"$]|;\s*(?:do|done|fi)\b/m;
/** Placeholder for one `${...}` of a template while the words of the template are counted. */
const PLACEHOLDER = '{}';

type Node = { readonly type: string; readonly start: number; readonly end: number } & Readonly<Record<string, unknown>>;

/**
 * Returns the comments, test names and messages of a TypeScript or JavaScript source, in the order of their positions.
 * Consecutive `//` lines are one comment.
 * @throws Error with the file and the first problem if the source does not parse
 */
export function textsOfSource(file: string, source: string): readonly Text[] {
  const { program, comments, errors } = parseSync(file, source);
  if (errors.length > 0) throw new Error(`parse ${file}: ${errors[0]?.message}`);
  const line = lineCounter(source);
  const texts: Text[] = commentTexts(source, comments).map((text) => ({ ...text, line: line(text.start) }));
  const isTest = /(^|\/)test\//.test(file);
  const visit = (value: unknown, testName: boolean): void => {
    if (Array.isArray(value)) {
      for (const one of value) visit(one, false);
      return;
    }
    if (!isNode(value)) return;
    if (SKIPPED.has(value.type)) return;
    const literal = literalText(value, source);
    if (literal !== undefined) {
      const { start, end } = value;
      if (testName) texts.push({ kind: 'test name', text: literal, start, end, line: line(start) });
      else if (!isTest && isMessage(plainText(value, literal)))
        texts.push({ kind: 'message', text: literal, start, end, line: line(start) });
      if (value.type === 'Literal') return;
    }
    const names = value.type === 'CallExpression' && isTestFunction(value.callee);
    for (const [key, child] of Object.entries(value)) {
      if (key === 'arguments' && names && Array.isArray(child)) {
        for (const [index, one] of child.entries()) visit(one, index === 0);
      } else if (key !== 'type') visit(child, false);
    }
  };
  visit(program, false);
  return texts.sort((a, b) => a.start - b.start);
}

/** Nodes whose strings are module names, type names or property names. */
const SKIPPED = new Set(['ImportDeclaration', 'ExportAllDeclaration', 'TSLiteralType', 'ImportExpression']);

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';
}

function literalText(node: Node, source: string): string | undefined {
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : undefined;
  if (node.type === 'TemplateLiteral') return source.slice(node.start + 1, node.end - 1);
  return undefined;
}

/** Returns a literal's text with each `${...}` of a template shortened to one placeholder, so that its code counts as one word. */
function plainText(node: Node, literal: string): string {
  if (node.type !== 'TemplateLiteral') return literal;
  const quasis = node.quasis as readonly { readonly value: { readonly raw: string } }[];
  return quasis.map(({ value }) => value.raw).join(PLACEHOLDER);
}

/**
 * Reports whether a string is a message: it is not code and has enough words, and at least two of the words are plain
 * words rather than placeholders, flags or paths.
 */
function isMessage(text: string): boolean {
  const words = text.trim().split(/\s+/);
  const plain = words.filter((word) => /^["'(`]*[A-Za-z]{2,}[,.:;)"'`]*$/.test(word));
  return !CODE.test(text) && words.length >= MESSAGE_WORDS && plain.length >= PLAIN_WORDS && /[a-z]{3}/.test(text);
}

/** Reports whether a called expression is `it`, `it.each(...)`, `describe.skipIf(...)` and the like. */
function isTestFunction(callee: unknown): boolean {
  if (!isNode(callee)) return false;
  if (callee.type === 'Identifier') return TEST_FUNCTIONS.has(String(callee.name));
  if (callee.type === 'MemberExpression') {
    return isNode(callee.property) && MODIFIERS.has(String(callee.property.name)) && isTestFunction(callee.object);
  }
  if (callee.type === 'CallExpression') return isTestFunction(callee.callee);
  if (callee.type === 'TaggedTemplateExpression') return isTestFunction(callee.tag);
  return false;
}

function commentTexts(source: string, comments: readonly Comment[]): readonly Omit<Text, 'line'>[] {
  const texts: { kind: 'comment'; text: string; start: number; end: number; whole: boolean }[] = [];
  for (const { type, value, start, end } of comments) {
    if (DIRECTIVE.test(value) || source.startsWith('#!', start)) continue;
    const text = type === 'Line' ? value.trim() : blockText(value);
    const whole = type === 'Line' && source.slice(source.lastIndexOf('\n', start - 1) + 1, start).trim() === '';
    const last = texts.at(-1);
    if (whole && last?.whole && /^\n[ \t]*$/.test(source.slice(last.end, start))) {
      last.text += `\n${text}`;
      last.end = end;
    } else texts.push({ kind: 'comment', text, start, end, whole });
  }
  return texts.map(({ whole: _, ...text }) => text);
}

/** Removes the leading stars of a block comment. */
function blockText(value: string): string {
  return value
    .replace(/^\*/, '')
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, '').trimEnd())
    .join('\n')
    .trim();
}

/**
 * Returns the paragraphs, list items and table cells of a Markdown page. Code blocks, generated tables and headings are left out.
 */
export function textsOfMarkdown(source: string): readonly Text[] {
  const texts: Text[] = [];
  let offset = 0;
  let fenced = false;
  let open: { text: string; start: number; end: number; line: number } | undefined;
  const close = (): void => {
    if (open !== undefined) texts.push({ kind: 'doc', ...open });
    open = undefined;
  };
  source.split('\n').forEach((text, index) => {
    const start = offset;
    offset += text.length + 1;
    if (/^\s*```/.test(text)) {
      close();
      fenced = !fenced;
      return;
    }
    if (fenced) return;
    if (/^\s*$|^#|^\s*<!--|^\s*\|[\s:|-]+\|\s*$/.test(text)) {
      close();
      return;
    }
    const end = start + text.length;
    if (/^\s*\|/.test(text)) {
      close();
      for (const cell of text.split(/(?<!\\)\|/)) {
        if (isMessage(cell)) texts.push({ kind: 'doc', text: cell.trim(), start, end, line: index + 1 });
      }
      return;
    }
    if (/^\s*([-*]|\d+\.) /.test(text)) close();
    if (open === undefined) open = { text: text.trim(), start, end, line: index + 1 };
    else open = { ...open, text: `${open.text}\n${text.trim()}`, end };
  });
  close();
  return texts;
}

function lineCounter(source: string): (offset: number) => number {
  const starts = [0];
  for (let at = source.indexOf('\n'); at !== -1; at = source.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  };
}

/**
 * Splits a text into sentences. Line breaks inside a paragraph do not end a sentence; tags and list items do. Neither a
 * colon or semicolon nor a full stop inside a code span, a `{@link}` or parentheses ends one.
 */
export function sentencesOf(text: string): readonly string[] {
  return text
    .split(/\n\s*\n|\n(?=\s*(?:@|[-*] |\d+\. ))/)
    .flatMap((paragraph) => splitSentences(paragraph.replace(/\s*\n\s*/g, ' ')))
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '');
}

/** Matches text that may contain a full stop which does not end the sentence. */
const UNSPLIT = /`[^`]*`|\$?\{[^{}]*\}|\([^()]{2,}\)|\b(?:e\.g|i\.e|etc|vs|cf)\./g;

function splitSentences(paragraph: string): readonly string[] {
  // A masked part keeps its length, so that positions in the mask are positions in the paragraph. "(... .)" keeps its
  // end.
  const mask = paragraph.replace(UNSPLIT, (part) =>
    part.endsWith(')') ? `(${'_'.repeat(part.length - 3)}${part.slice(-2)}` : '_'.repeat(part.length),
  );
  const sentences: string[] = [];
  let start = 0;
  for (const end of mask.matchAll(/(?<=[.!?]["')\]*]?)\s+(?=[A-Z_@*"([])/g)) {
    sentences.push(paragraph.slice(start, end.index));
    start = end.index + end[0].length;
  }
  return [...sentences, paragraph.slice(start)];
}
