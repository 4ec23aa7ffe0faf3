import { type ConfigNode, describe, type Position, shorten } from './document/node.ts';
import { parseDuration } from './duration.ts';
import type { ConfigIssue, Origin } from './error.ts';
import { childPath } from './path.ts';
import { parseQuantity } from './quantity.ts';
import type { Field, FieldType, Json } from './schema/field.ts';
import { API_VERSION, configurationFields, KIND } from './schema/kubelet-configuration.ts';
import { closest } from './suggest.ts';

/** Content of one file in wire form. The value has only the fields that the file contains; `null` removes a field. */
export interface Layer {
  readonly value: Readonly<Record<string, Json>>;
  /** Position of each value, by path. */
  readonly origins: ReadonlyMap<string, Origin>;
  readonly issues: readonly ConfigIssue[];
  /** Unknown fields, which upstream ignores with a warning. */
  readonly unknown: readonly ConfigIssue[];
}

/** Decodes a document as a KubeletConfiguration and reports all unknown fields and values of the wrong type. */
export function decodeConfiguration(root: ConfigNode, file: string, source: 'file' | 'dropIn'): Layer {
  return new Decoder(file, source).configuration(root);
}

const SIGNED = { 32: [-2_147_483_648, 2_147_483_647], 64: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER] } as const;
/** Value of null in a map of the --config file, for types whose zero value is allowed in a map. */
const ZERO_VALUES: Readonly<Partial<Record<FieldType['kind'], Json>>> = { boolean: false, string: '', list: [] };

class Decoder {
  readonly #file: string;
  readonly #source: 'file' | 'dropIn';
  readonly #origins = new Map<string, Origin>();
  readonly #issues: ConfigIssue[] = [];
  readonly #unknown: ConfigIssue[] = [];
  #inSecret = false;

  constructor(file: string, source: 'file' | 'dropIn') {
    this.#file = file;
    this.#source = source;
  }

  configuration(root: ConfigNode): Layer {
    let value: Readonly<Record<string, Json>> = {};
    if (root.kind !== 'map') {
      this.#report('', `must be an object with apiVersion and kind, not ${describe(root)}`, root);
    } else {
      this.#expect(root, 'apiVersion', API_VERSION);
      this.#expect(root, 'kind', KIND);
      // A file of another kind has other fields, so its unknown fields are not listed: they would hide the wrong kind.
      if (this.#issues.length === 0) value = this.#object(root, '', configurationFields, ['apiVersion', 'kind']);
    }
    return { value, origins: this.#origins, issues: this.#issues, unknown: this.#unknown };
  }

  #expect(root: ConfigNode & { kind: 'map' }, key: string, expected: string): void {
    const entry = root.entries.find((candidate) => candidate.key === key);
    if (entry === undefined) this.#report(key, `is missing; it must be ${expected}`, root);
    else if (entry.value.kind !== 'scalar' || entry.value.value !== expected) {
      this.#report(key, `must be ${expected}, not ${describe(entry.value)}`, entry.value);
    }
  }

  #object(
    node: ConfigNode & { kind: 'map' },
    path: string,
    fields: readonly Field[],
    ignored: readonly string[] = [],
  ): Readonly<Record<string, Json>> {
    const members: [string, Json][] = [];
    for (const { key, keyAt, value } of node.entries) {
      if (ignored.includes(key)) continue;
      const line = fields.find((candidate) => candidate.name === key);
      if (line === undefined) {
        this.#unknown.push(this.#issue(childPath(path, shorten(key)), unknownField(key, fields), keyAt));
        continue;
      }
      this.#inSecret ||= line.isSecret;
      const decoded = this.#value(value, childPath(path, key), line.type, true);
      this.#inSecret &&= !line.isSecret;
      if (decoded !== undefined) members.push([key, decoded]);
    }
    return Object.fromEntries(members);
  }

  #value(node: ConfigNode, path: string, type: FieldType, nullable: boolean): Json | undefined {
    if (nullable && node.kind === 'scalar' && node.value === null) {
      this.#origin(path, node);
      return null;
    }
    switch (type.kind) {
      case 'object':
        if (node.kind === 'map') return this.#object(node, path, type.fields);
        return this.#mismatch(node, path, `an object with ${type.fields.map((line) => line.name).join(', ')}`);
      case 'map':
        if (node.kind === 'map') return this.#map(node, path, type.of);
        return this.#mismatch(node, path, 'an object');
      case 'list':
        if (node.kind === 'list') return this.#list(node, path, type.of);
        return this.#mismatch(node, path, 'a list');
      default:
        return this.#scalar(node, path, type);
    }
  }

  #map(node: ConfigNode & { kind: 'map' }, path: string, of: FieldType): Json {
    if (node.entries.length === 0) this.#origin(path, node);
    const members: [string, Json][] = [];
    for (const { key, value } of node.entries) {
      const decoded = this.#mapValue(value, childPath(path, key), of);
      if (decoded !== undefined) members.push([key, decoded]);
    }
    return Object.fromEntries(members);
  }

  /**
   * Returns the value of null in a map: in a drop-in, null removes the key; in the --config file, it is the type's zero
   * value, as in Go.
   */
  #mapValue(node: ConfigNode, path: string, of: FieldType): Json | undefined {
    const isNull = node.kind === 'scalar' && node.value === null;
    const zero = this.#source === 'file' && isNull ? ZERO_VALUES[of.kind] : undefined;
    if (zero === undefined) return this.#value(node, path, of, this.#source === 'dropIn');
    this.#origin(path, node);
    return zero;
  }

  #list(node: ConfigNode & { kind: 'list' }, path: string, of: FieldType): Json {
    this.#origin(path, node);
    return node.items
      .map((item, index) => this.#value(item, childPath(path, index), of, false))
      .filter((item) => item !== undefined);
  }

  #scalar(node: ConfigNode, path: string, type: FieldType): Json | undefined {
    this.#origin(path, node);
    if (node.kind !== 'scalar') return this.#mismatch(node, path, wanted(type));
    const decoded = scalarValue(node.value, type);
    return decoded === undefined ? this.#mismatch(node, path, wanted(type)) : decoded;
  }

  #mismatch(node: ConfigNode, path: string, want: string): undefined {
    this.#report(path, `must be ${want}, not ${describe(node, this.#inSecret)}`, node);
    return undefined;
  }

  #origin(path: string, node: ConfigNode): void {
    this.#origins.set(path, { source: this.#source, file: this.#file, ...node.at });
  }

  #report(path: string, message: string, node: ConfigNode): void {
    this.#issues.push(this.#issue(path, message, node.at));
  }

  #issue(path: string, message: string, at: Position): ConfigIssue {
    return { path, message, origin: { source: this.#source, file: this.#file, ...at } };
  }
}

/**
 * Returns the wire value of a scalar; `undefined` if the scalar has no value, the wrong type, or a value that is not
 * allowed.
 */
export function scalarValue(
  value: null | boolean | number | bigint | string | undefined,
  type: FieldType,
): Json | undefined {
  switch (type.kind) {
    case 'boolean':
      return typeof value === 'boolean' ? value : undefined;
    case 'integer':
      return typeof value === 'number' && isInteger(value, type) ? value : undefined;
    case 'number':
      return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
    case 'string':
      return typeof value === 'string' ? value : undefined;
    case 'enum':
      return typeof value === 'string' && (value === '' || type.values.includes(value)) ? value : undefined;
    case 'duration':
      if (typeof value === 'number' && type.integerNanoseconds && Number.isSafeInteger(value)) return value;
      return typeof value === 'string' && parseDuration(value) !== undefined ? value : undefined;
    case 'bytes': {
      const text = type.acceptsNumber && typeof value === 'number' ? String(value) : value;
      if (typeof text !== 'string') return undefined;
      if (type.acceptsNumber) return parseQuantity(text) === undefined ? undefined : text;
      return text === '' || isWhole(text) ? text : undefined;
    }
    case 'quantity': {
      const text = type.acceptsNumber && typeof value === 'number' ? String(value) : value;
      return typeof text === 'string' && parseQuantity(text) !== undefined ? text : undefined;
    }
    default:
      return undefined;
  }
}

/**
 * Returns whether the text is a quantity of whole bytes that fits into an int64. `1m`, for example, is a thousandth of
 * a byte.
 */
function isWhole(text: string): boolean {
  const quantity = parseQuantity(text);
  return (
    quantity !== undefined &&
    quantity.nanos % 1_000_000_000n === 0n &&
    BigInt.asIntN(64, quantity.value()) === quantity.value()
  );
}

function isInteger(value: number, type: FieldType & { kind: 'integer' }): boolean {
  const [min, max] = SIGNED[type.bits];
  const low = type.unsigned ? 0 : min;
  const high = type.unsigned && type.bits === 32 ? 4_294_967_295 : max;
  return Number.isInteger(value) && value >= low && value <= high;
}

/** Describes the expected value of a type, for errors. */
export function wanted(type: FieldType): string {
  switch (type.kind) {
    case 'boolean':
      return 'true or false';
    case 'integer': {
      const [min, max] = SIGNED[type.bits];
      if (type.unsigned) return 'a whole number from 0 to 4294967295';
      return `a whole number from ${min} to ${max}`;
    }
    case 'number':
      return 'a number';
    case 'string':
      return 'a string';
    case 'enum':
      return `one of ${type.values.map((value) => JSON.stringify(value)).join(', ')}`;
    case 'duration':
      return type.integerNanoseconds
        ? 'a duration such as "5s", or a whole number of nanoseconds'
        : 'a duration with a unit, such as "1m30s" or "300ms"';
    case 'bytes':
      return type.acceptsNumber ? 'a quantity such as "10Mi"' : 'a quantity of whole bytes such as "10Mi"';
    case 'quantity':
      return 'a quantity such as "10Mi" or "500m"';
    case 'list':
      return `a list of ${wanted(type.of)}`;
    case 'map':
      return 'an object';
    case 'object':
      return `an object with ${type.fields.map((line) => line.name).join(', ')}`;
  }
}

function unknownField(key: string, fields: readonly Field[]): string {
  const names = fields.map((line) => line.name);
  const near = closest(key, names);
  if (near !== undefined) return `unknown field; did you mean ${near}?`;
  return names.length <= 12 ? `unknown field; the fields are ${names.join(', ')}` : 'unknown field';
}
