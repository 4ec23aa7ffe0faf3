type Json = Readonly<Record<string, unknown>>;

/** Fields of Go structs that are absent on the wire if they are empty. */
const ABSENT_WHEN_EMPTY: ReadonlySet<string> = new Set(['state', 'lastState']);
const ABSENT_WHEN_ZERO: ReadonlySet<string> = new Set(['observedGeneration', 'signal']);

/**
 * Removes values that mean the same as absent ones on the wire: nulls, empty strings and lists, and zeros of fields
 * with `omitempty`.
 */
export function normalized(value: unknown, name = ''): unknown {
  if (isAbsent(value, name)) return undefined;
  if (Array.isArray(value)) return value.map((item) => normalized(item));
  if (!isRecord(value)) return value;
  const result: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const field = normalized(value[key], key);
    if (field !== undefined) setOwn(result, key, field);
  }
  return result;
}

/** Sets a field. An assignment to `__proto__` would replace the prototype instead. */
function setOwn(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') object[key] = value;
  else Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}

/**
 * Returns whether two values are equal after {@link normalized}, without creating the normalized values, because this
 * is called very often.
 */
export function sameOnWire(one: unknown, other: unknown, name = ''): boolean {
  if (one === other) return true;
  if (isAbsent(one, name)) return isAbsent(other, name);
  if (Array.isArray(one)) {
    return Array.isArray(other) && one.length === other.length && one.every((item, at) => sameOnWire(item, other[at]));
  }
  if (!isRecord(one) || !isRecord(other)) return false;
  for (const key in one) if (!sameOnWire(one[key], other[key], key)) return false;
  for (const key in other) if (!(key in one) && !isAbsent(other[key], key)) return false;
  return true;
}

export function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isAbsent(value: unknown, name: string): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (value === 0) return ABSENT_WHEN_ZERO.has(name);
  if (Array.isArray(value)) return value.length === 0;
  return isRecord(value) && ABSENT_WHEN_EMPTY.has(name) && isEmpty(value);
}

function isEmpty(value: Json): boolean {
  for (const key in value) if (!isAbsent(value[key], key)) return false;
  return true;
}
