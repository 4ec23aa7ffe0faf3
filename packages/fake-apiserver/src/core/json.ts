/** A JSON object with unknown fields. Objects in the store are never modified in place. */
export type JsonObject = { [key: string]: unknown };

/** Returns whether a value is a JSON object, that is, neither null nor a list. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the value at a path of fields. Returns `undefined` if a field of the path is absent. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  let here = value;
  for (const key of path) {
    if (!isObject(here)) return undefined;
    here = here[key];
  }
  return here;
}

/** Returns the string at a path, or '' if there is none. */
export function textAt(value: unknown, ...path: readonly string[]): string {
  const found = at(value, ...path);
  return typeof found === 'string' ? found : '';
}

/** Returns the number at a path, or `undefined` if there is none. */
export function numberAt(value: unknown, ...path: readonly string[]): number | undefined {
  const found = at(value, ...path);
  return typeof found === 'number' ? found : undefined;
}

/** Returns the object at a path. If there is none, returns a new empty object that is not part of the value. */
export function objectAt(value: unknown, ...path: readonly string[]): JsonObject {
  const found = at(value, ...path);
  return isObject(found) ? found : {};
}

/** Returns the list at a path, or an empty list if there is none. */
export function listAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** Returns a deep copy. */
export function clone<T>(value: T): T {
  if (Array.isArray(value)) return value.map(clone) as T;
  if (!isObject(value)) return value;
  const copy: JsonObject = {};
  for (const [key, item] of Object.entries(value)) define(copy, key, clone(item));
  return copy as T;
}

/** Sets an own field. Handles `__proto__` safely, because clients can send any field name. */
export function define(target: JsonObject, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else target[key] = value;
}

/**
 * Returns whether two JSON values are equal. The order of fields does not matter, and `undefined` equals an absent
 * field.
 */
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => same(item, b[i]));
  if (!isObject(a) || !isObject(b)) return false;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  for (const key of keys) if (!same(ownField(a, key), ownField(b, key))) return false;
  return true;
}

/** Returns an own field of the object, never an inherited property. */
export function ownField(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Returns the object's metadata for modification in place. Creates the metadata if they are absent. */
export function metadataOf(object: JsonObject): JsonObject {
  if (!isObject(object.metadata)) object.metadata = {};
  return object.metadata as JsonObject;
}

/** Sets a field, or deletes the field if the value is `undefined`. */
export function setOrDelete(object: JsonObject, key: string, value: unknown): void {
  if (value === undefined) delete object[key];
  else object[key] = value;
}
