/**
 * The type of `T` in its JSON form. The classes of @kubernetes/client-node hold `Date`s for values that are RFC 3339
 * strings on the wire. This package never changes objects in place.
 */
export type Wire<T> = T extends Date
  ? string
  : T extends readonly (infer E)[]
    ? readonly Wire<E>[]
    : T extends object
      ? { readonly [K in keyof T]: Wire<T[K]> }
      : T;

/**
 * Converts an object to its wire form: replaces the `Date`s of @kubernetes/client-node's objects and drops fields that
 * are `undefined`.
 */
export function toWire<T extends object>(object: T): Wire<T> {
  // JSON conversion yields exactly the declared type.
  return JSON.parse(JSON.stringify(object)) as Wire<T>;
}
