/**
 * Returns `next` with equal parts shared: each object or array that equals the value at the same place in `previous` is
 * replaced by that value. Both arguments must be JSON values, and neither is modified.
 */
export function sharingEqualParts<T>(previous: unknown, next: T): T {
  if (Array.isArray(previous) && Array.isArray(next)) return sharedArray(previous, next) as T;
  if (isObject(previous) && isObject(next)) return sharedObject(previous, next) as T;
  return next;
}

type JsonObject = Readonly<Record<string, unknown>>;

function sharedArray(previous: readonly unknown[], next: readonly unknown[]): readonly unknown[] {
  const shared = next.map((item, index) => sharingEqualParts(previous[index], item));
  const isEqual = previous.length === shared.length && shared.every((item, index) => item === previous[index]);
  return isEqual ? previous : shared;
}

function sharedObject(previous: JsonObject, next: JsonObject): JsonObject {
  const keys = Object.keys(next);
  let isEqual = keys.length === Object.keys(previous).length;
  const shared: Record<string, unknown> = { ...next };
  for (const key of keys) {
    const before = Object.hasOwn(previous, key) ? previous[key] : undefined;
    shared[key] = sharingEqualParts(before, next[key]);
    isEqual &&= before !== undefined && shared[key] === before;
  }
  return isEqual ? previous : shared;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
