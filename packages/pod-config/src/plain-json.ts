/** A JSON value. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** Path of a value in a document. */
export type JsonPath = readonly (string | number)[];

/** Limits for the expanded form of one document. */
export interface JsonLimits {
  readonly maxValues: number;
  readonly maxDepth: number;
}

/** Reason why a value is not JSON. */
export class NotJsonError extends Error {
  override readonly name = 'NotJsonError';
  readonly path: JsonPath;

  constructor(message: string, path: JsonPath) {
    super(message);
    this.path = path;
  }
}

/**
 * Copies the result of a YAML parser to plain JSON without shared values: references (aliases) are expanded.
 * @throws NotJsonError for a reference to an enclosing value, for a value that JSON lacks (NaN, infinity), and if the
 * expanded document has more values or is deeper than `limits`
 */
export function toPlainJson(value: unknown, limits: JsonLimits): JsonValue {
  const enclosing = new Set<object>();
  let values = 0;
  const copy = (current: unknown, path: JsonPath): JsonValue => {
    if (++values > limits.maxValues) throw new NotJsonError(`expands to more than ${limits.maxValues} values`, path);
    if (current === null || typeof current === 'boolean' || typeof current === 'string') return current;
    if (typeof current === 'number') {
      if (Number.isFinite(current)) return current;
      throw new NotJsonError(`${current} is not a number that JSON can hold`, path);
    }
    if (typeof current !== 'object') throw new NotJsonError(`a ${typeof current} is not JSON`, path);
    if (enclosing.has(current)) throw new NotJsonError('refers to a value that encloses it', path);
    if (path.length >= limits.maxDepth) throw new NotJsonError(`is nested deeper than ${limits.maxDepth} levels`, path);
    enclosing.add(current);
    const result = Array.isArray(current)
      ? current.map((item, index) => copy(item, [...path, index]))
      : Object.fromEntries(Object.entries(current).map(([key, item]) => [key, copy(item, [...path, key])]));
    enclosing.delete(current);
    return result;
  };
  return copy(value, []);
}

/**
 * Serializes `value` so that equal values yield equal texts: keys are sorted, and keys with the value `null` are
 * omitted.
 */
export function canonicalJson(value: JsonValue): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const entries = Object.entries(value).filter(([, item]) => item !== null);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(',')}}`;
}

/** Returns the value without object fields that are `null`, which the API treats as absent. */
export function withoutNullFields(value: JsonValue): JsonValue {
  if (value === null || typeof value !== 'object') return value;
  if (isArray(value)) return value.map(withoutNullFields);
  const entries = Object.entries(value).filter(([, item]) => item !== null);
  return Object.fromEntries(entries.map(([key, item]) => [key, withoutNullFields(item)]));
}

/** Returns whether the value is an object, and neither `null` nor a list. */
export function isJsonObject(value: JsonValue | undefined): value is { readonly [key: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !isArray(value);
}

function isArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}
