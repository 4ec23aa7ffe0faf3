import { type Document, isAlias, isMap, isScalar, isSeq, type Pair, visit } from '@node-agent/yaml';
import { type JsonLimits, type JsonPath, type JsonValue, NotJsonError } from './plain-json.ts';

/** A key that occurs more than once in its map. */
interface DuplicateKey {
  readonly name: string;
  /** Position of the later key in the text. */
  readonly offset: number;
}

/** Largest number of duplicate keys listed per document. */
const MAX_DUPLICATES = 100;

/**
 * Returns the target node of each alias of a document: the last node with its anchor before the alias. A single walk
 * finds all targets; the library walks over all anchors for each alias, which takes minutes for a large document.
 */
export function aliasTargets(document: Document): ReadonlyMap<unknown, unknown> {
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
 * Converts a YAML document to plain JSON without shared values. Aliases and merges are expanded, and each expanded
 * value counts against the limits, which also bounds the work. The library's own conversion copies merged values before
 * they can be counted.
 */
export class YamlConversion {
  /** Duplicate keys found by the conversion, each once, in the order of the text. */
  readonly duplicateKeys: DuplicateKey[] = [];
  readonly #document: Document;
  readonly #limits: JsonLimits;
  readonly #targets: ReadonlyMap<unknown, unknown>;
  readonly #enclosing = new Set<unknown>();
  readonly #duplicates = new Set<unknown>();
  #values = 0;

  constructor(document: Document, limits: JsonLimits) {
    this.#document = document;
    this.#limits = limits;
    this.#targets = aliasTargets(document);
  }

  /**
   * Returns the document's value.
   * @throws NotJsonError for an alias to an enclosing value or without an anchor, a key that is not a scalar, a value
   * that JSON cannot represent, and a document that exceeds the limits of values or depth
   */
  convert(): JsonValue {
    return this.#value(this.#document.contents, [], 0);
  }

  #value(given: unknown, path: JsonPath, depth: number): JsonValue {
    const { maxDepth } = this.#limits;
    this.#count(path);
    const node = this.#target(given, path);
    if (node === null || node === undefined) return null;
    if (isScalar(node)) return scalarValue(node.value, path);
    if (this.#enclosing.has(node)) throw new NotJsonError('refers to a value that encloses it', path);
    if (depth >= maxDepth) throw new NotJsonError(`is nested deeper than ${maxDepth} levels`, path);
    this.#enclosing.add(node);
    const value = this.#collection(node, path, depth);
    this.#enclosing.delete(node);
    return value;
  }

  #collection(node: unknown, path: JsonPath, depth: number): JsonValue {
    if (isSeq(node)) return node.items.map((item, index) => this.#value(item, [...path, index], depth + 1));
    if (isMap(node)) return Object.fromEntries(this.#members(node.items, path, depth));
    throw new NotJsonError('must be a scalar, a list or a map', path);
  }

  #members(pairs: readonly Pair[], path: JsonPath, depth: number): ReadonlyMap<string, JsonValue> {
    const members = new Map<string, JsonValue>();
    const own = new Set<string>();
    for (const { key, value } of pairs) {
      if (isScalar(key) && typeof key.value === 'symbol') {
        this.#merge(value, members, path, depth);
        continue;
      }
      const name = this.#name(key, path);
      if (own.has(name)) this.#duplicate(key, name);
      own.add(name);
      members.set(name, this.#value(value, [...path, name], depth + 1));
    }
    return members;
  }

  /** Adds the members of a map, or of each map of a list, unless they already exist. */
  #merge(value: unknown, members: Map<string, JsonValue>, path: JsonPath, depth: number): void {
    const source = this.#target(value, path);
    for (const item of isSeq(source) ? source.items : [source]) {
      if (!isMap(this.#target(item, path))) throw new NotJsonError('Merge sources must be maps or map aliases', path);
      const merged = this.#value(item, path, depth + 1);
      for (const [name, own] of Object.entries(merged as Readonly<Record<string, JsonValue>>)) {
        // A chain of merges copies the same members at each step, so each copy counts.
        this.#count(path);
        if (!members.has(name)) members.set(name, own);
      }
    }
  }

  #count(path: JsonPath): void {
    const { maxValues } = this.#limits;
    if (++this.#values > maxValues) throw new NotJsonError(`expands to more than ${maxValues} values`, path);
  }

  #name(key: unknown, path: JsonPath): string {
    const node = this.#target(key, path);
    if (node === null || node === undefined) return '';
    if (!isScalar(node)) throw new NotJsonError('a key must be a scalar', path);
    return node.value === null || node.value === undefined ? '' : String(node.value);
  }

  #target(node: unknown, path: JsonPath): unknown {
    if (!isAlias(node)) return node;
    const target = this.#targets.get(node);
    if (target !== undefined) return target;
    const message = `Unresolved alias (the anchor must be set before the alias): ${node.source}`;
    throw new NotJsonError(message, path);
  }

  /** Records a duplicate key. An alias repeats the keys of its target, but each key is listed once. */
  #duplicate(key: unknown, name: string): void {
    if (this.#duplicates.has(key) || this.duplicateKeys.length >= MAX_DUPLICATES) return;
    this.#duplicates.add(key);
    const offset = isScalar(key) || isAlias(key) ? (key.range?.[0] ?? 0) : 0;
    this.duplicateKeys.push({ name, offset });
  }
}

function scalarValue(value: unknown, path: JsonPath): JsonValue {
  if (value === undefined || value === null) return null;
  if (typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (typeof value === 'number') throw new NotJsonError(`${value} is not a number that JSON can hold`, path);
  throw new NotJsonError(`a ${typeof value} is not JSON`, path);
}
