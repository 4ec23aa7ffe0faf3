import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseAllDocuments,
  type Scalar,
  type ScalarTag,
  type Tags,
  visit,
  type YAMLError,
} from '@node-agent/yaml';
import { type ConfigEntry, type ConfigNode, type Position, shorten } from './node.ts';

/** A problem in the text of a file. */
interface SyntaxProblem {
  readonly message: string;
  readonly at: Position;
}

/** A mistake that upstream accepts with a warning. */
export interface Leniency extends SyntaxProblem {
  /** Description of how the text is handled if the file is not rejected. */
  readonly consequence: string;
}

export type ParsedDocument =
  | { readonly root: ConfigNode; readonly leniencies: readonly Leniency[]; readonly problems?: never }
  | { readonly root?: never; readonly problems: readonly SyntaxProblem[] };

// These limits are far above any real configuration. Without these limits, a few lines of YAML aliases could expand
// beyond the available memory.
const MAX_NODES = 100_000;
const MAX_DEPTH = 64;
const START: Position = { line: 1, column: 1 };
// Kubernetes' YAML parser knows neither base 60 numbers nor dates, and JSON has no binary data.
const UNKNOWN_TAGS: ReadonlySet<string> = new Set([
  'timestamp',
  'intTime',
  'floatTime',
  'binary',
  'omap',
  'pairs',
  'set',
]);
/** Integers that Go accepts but YAML 1.1 does not, because of the letter of their base: `0o17`, `0X1F`, `0B11`. */
const GO_INTEGER: ScalarTag = {
  default: true,
  tag: 'tag:yaml.org,2002:int',
  test: /^[-+]?0(?:[oO]_*[0-7][0-7_]*|X_*[\da-fA-F][\da-fA-F_]*|B_*[01][01_]*)$/,
  resolve: (text) => {
    const digits = BigInt(text.replace(/^[-+]/, '').replaceAll('_', ''));
    return text.startsWith('-') ? -digits : digits;
  },
};

/**
 * Parses the first document of a YAML 1.1 text as Kubernetes does (`yes` is true, `0777` and `0o777` are octal, no
 * dates, no base 60 numbers), or a JSON document if the text starts with a brace. An empty file is a problem. Of a
 * duplicate key the last value is used, and later documents are ignored: both are reported as leniencies.
 */
export function parseDocument(bytes: Uint8Array): ParsedDocument {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return { problems: [{ message: 'is not UTF-8 text', at: START }] };
  }
  if (text.trim() === '') return { problems: [{ message: 'is empty', at: START }] };
  return text.trimStart().startsWith('{') ? parseJson(text) : parseYaml(text);
}

function parseJson(text: string): ParsedDocument {
  try {
    JSON.parse(text);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return {
      problems: [{ message: `is not valid JSON: ${unquoted(message)}`, at: placeInMessage(message) ?? endOf(text) }],
    };
  }
  return parseWith(text.replaceAll('\t', ' '), 'json');
}

/**
 * W4: removes the part of the parser's message that quotes the text around the error, which may contain a header with a
 * token.
 */
function unquoted(message: string): string {
  return message.replace(/, (?:\.\.\.)?"[\s\S]*$/, '');
}

/** Returns the position that an error message of `JSON.parse` contains; `undefined` if it contains none. */
function placeInMessage(message: string): Position | undefined {
  const [, line, column] = /\(line (\d+) column (\d+)\)/.exec(message) ?? [];
  return line === undefined || column === undefined ? undefined : { line: Number(line), column: Number(column) };
}

function endOf(text: string): Position {
  const lines = text.trimEnd().split('\n');
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}

function parseYaml(text: string): ParsedDocument {
  return parseWith(text, 'yaml-1.1');
}

function parseWith(text: string, schema: 'json' | 'yaml-1.1'): ParsedDocument {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, {
    version: schema === 'json' ? '1.2' : '1.1',
    schema,
    customTags: (tags: Tags) => [
      ...(schema === 'json' ? [] : [GO_INTEGER]),
      ...tags.filter((tag) => !UNKNOWN_TAGS.has(typeof tag === 'string' ? tag : nameOf(tag))),
    ],
    intAsBigInt: true,
    // The YAML library would compare each key with all earlier keys. `TreeReader` detects duplicates with a map
    // instead.
    uniqueKeys: false,
    merge: schema !== 'json',
    lineCounter: lines,
    prettyErrors: false,
  });
  const position = (offset: number | undefined): Position => {
    if (offset === undefined) return START;
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  if (!Array.isArray(documents)) return { problems: [{ message: 'is empty', at: START }] };
  const hasContent = ({ contents, errors }: Document.Parsed): boolean =>
    errors.length > 0 || (contents !== null && !isEmptyScalar(contents));
  const [document, second] = documents.filter(hasContent);
  if (document === undefined) return { problems: [{ message: 'is empty', at: START }] };
  if (document.errors.length > 0) {
    return {
      problems: document.errors.map((error) => ({ message: messageOf(error), at: position(error.pos[0]) })),
    };
  }
  const read = new TreeReader(document, position).read();
  if (second === undefined || read.problems !== undefined) return read;
  const later: Leniency = {
    message: 'holds more than one document',
    consequence: 'only the first is used',
    at: position(second.range[0]),
  };
  return { ...read, leniencies: [...read.leniencies, later] };
}

/** Errors whose messages quote the input, which may be a secret (W4). */
const QUOTING: ReadonlySet<string> = new Set([
  'BAD_ALIAS',
  'BAD_COLLECTION_TYPE',
  'BAD_DIRECTIVE',
  'BAD_DQ_ESCAPE',
  'IMPOSSIBLE',
  'TAG_RESOLVE_FAILED',
  'UNEXPECTED_TOKEN',
]);

function messageOf({ code, message }: YAMLError): string {
  return QUOTING.has(code) ? `is not YAML (${code})` : message;
}

function isEmptyScalar(node: unknown): boolean {
  return isScalar(node) && node.value === null && (node.source === undefined || node.source === '');
}

/**
 * Returns the name of a tag of the YAML library, by which tags are removed. The YAML library itself identifies tags
 * only by object identity.
 */
function nameOf(tag: Exclude<Tags[number], string>): string {
  const format = 'format' in tag && typeof tag.format === 'string' ? tag.format : '';
  if (format === 'TIME') return 'intTime';
  return tag.tag.replace('tag:yaml.org,2002:', '');
}

class TreeReader {
  readonly #document: Document;
  readonly #targets: ReadonlyMap<unknown, unknown>;
  readonly #leniencies: Leniency[] = [];
  /** Keys for which a duplicate was already reported. */
  readonly #repeated = new Set<unknown>();
  readonly #position: (offset: number | undefined) => Position;
  readonly #problems: SyntaxProblem[] = [];
  #nodes = 0;

  constructor(document: Document, position: (offset: number | undefined) => Position) {
    this.#document = document;
    this.#targets = aliasTargets(document);
    this.#position = position;
  }

  read(): ParsedDocument {
    const root = this.#convert(this.#document.contents, 0, START);
    if (root === undefined || this.#problems.length > 0) return { problems: this.#problems };
    return { root, leniencies: this.#leniencies };
  }

  #convert(node: unknown, depth: number, fallback: Position): ConfigNode | undefined {
    const at = this.#at(node) ?? fallback;
    if (++this.#nodes > MAX_NODES || depth > MAX_DEPTH) {
      if (this.#problems.length === 0)
        this.#problems.push({ message: 'is too large or too deep for a configuration', at });
      return undefined;
    }
    if (isAlias(node)) {
      const target = this.#targets.get(node);
      if (target === undefined) return this.#fail(`the alias *${node.source} has no anchor`, at);
      return this.#convert(target, depth + 1, at);
    }
    if (isScalar(node)) return this.#scalar(meantBy(node), at);
    if (node === null || node === undefined) return { kind: 'scalar', value: null, at };
    if (isSeq(node)) {
      const items = node.items.map((item) => this.#convert(item, depth + 1, at)).filter((item) => item !== undefined);
      return { kind: 'list', items, at };
    }
    if (isMap(node)) return { kind: 'map', entries: this.#entries(node.items, depth, at), at };
    return this.#fail('holds a value other than a scalar, a list or a mapping', at);
  }

  #scalar(value: unknown, at: Position): ConfigNode | undefined {
    switch (typeof value) {
      case 'bigint': {
        const small = value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER);
        return { kind: 'scalar', value: small ? Number(value) : value, at };
      }
      case 'boolean':
      case 'number':
      case 'string':
        return { kind: 'scalar', value, at };
      default:
        return value === null
          ? { kind: 'scalar', value, at }
          : this.#fail('holds a value that JSON cannot represent', at);
    }
  }

  /** Returns the entries of a mapping. Entries merged in by `<<` come last and never replace explicit entries. */
  #entries(pairs: readonly Pair<unknown, unknown>[], depth: number, at: Position): readonly ConfigEntry[] {
    const own: ConfigEntry[] = [];
    const merged: ConfigEntry[] = [];
    const byKey = new Map<string, number>();
    for (const { key, value } of pairs) {
      const keyAt = this.#at(key) ?? at;
      if (!isScalar(key)) {
        this.#fail('a key must be plain text', keyAt);
        continue;
      }
      const node = this.#convert(value, depth + 1, keyAt);
      if (node === undefined) continue;
      if (isMergeKey(key.value)) {
        merged.push(...this.#mergedEntries(node));
        continue;
      }
      const name = String(meantBy(key));
      const earlier = byKey.get(name);
      const entry = { key: name, keyAt, value: node };
      if (earlier === undefined) byKey.set(name, own.push(entry) - 1);
      else {
        own[earlier] = entry;
        // An alias repeats the entries of its target, so each duplicate key is reported only once.
        if (!this.#repeated.has(key)) {
          const message = `duplicate key ${JSON.stringify(shorten(name))}`;
          this.#leniencies.push({ message, consequence: 'the last value is used', at: keyAt });
        }
        this.#repeated.add(key);
      }
    }
    const taken = new Set(byKey.keys());
    for (const entry of merged) {
      if (taken.has(entry.key)) continue;
      taken.add(entry.key);
      own.push(entry);
    }
    return own;
  }

  #mergedEntries(node: ConfigNode): readonly ConfigEntry[] {
    if (node.kind === 'map') return node.entries;
    if (node.kind === 'list') return node.items.flatMap((item) => this.#mergedEntries(item));
    this.#fail('<< merges mappings only', node.at);
    return [];
  }

  #at(node: unknown): Position | undefined {
    const range = (node as Node | null | undefined)?.range;
    return range ? this.#position(range[0]) : undefined;
  }

  #fail(message: string, at: Position): undefined {
    this.#problems.push({ message, at });
    return undefined;
  }
}

/**
 * Returns the target node of each alias of a document: the last node with its anchor before the alias. All targets are
 * found in one walk over the document; the library would walk over all anchors for each alias.
 */
function aliasTargets(document: Document): ReadonlyMap<unknown, unknown> {
  const targets = new Map<unknown, unknown>();
  const anchored = new Map<string, unknown>();
  visit(document, {
    Node(_key, node) {
      if (isAlias(node)) targets.set(node, anchored.get(node.source));
      else if ('anchor' in node && node.anchor) anchored.set(node.anchor, node);
    },
  });
  return targets;
}

/**
 * Returns the value of a scalar as Go reads it: a number without a required digit (`.`, `e2`) or too large a number is
 * a string. `.inf` and `.nan` are numbers.
 */
function meantBy({ value, source }: Scalar): unknown {
  if (typeof value !== 'number' || Number.isFinite(value) || /^[-+]?\.(?:inf|nan)$/i.test(String(source))) return value;
  return source;
}

function isMergeKey(key: unknown): boolean {
  return key === '<<' || (typeof key === 'symbol' && key.description === '<<');
}
