/**
 * Returns a function that calls `find` once per object and caches the result as long as the object exists. Caching is
 * safe because pods and their parts never change in memory. Errors of `find` are not cached.
 */
export function oncePer<K extends object, T>(find: (object: K) => T): (object: K) => T {
  const found = new WeakMap<K, { readonly value: T }>();
  return (object) => {
    let known = found.get(object);
    if (known === undefined) {
      known = { value: find(object) };
      found.set(object, known);
    }
    return known.value;
  };
}
