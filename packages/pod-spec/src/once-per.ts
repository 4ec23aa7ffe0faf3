/**
 * What is found out of an object once, however often it is asked for: pods and their parts never change as they are in memory. It is kept as
 * long as the object is. What `find` throws is not kept.
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
