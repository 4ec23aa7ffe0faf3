/**
 * The type that the JSON of a `T` has: the classes of @kubernetes/client-node hold `Date`s where the wire has RFC 3339
 * strings. Objects are never changed in place here.
 */
export type Wire<T> = T extends Date
  ? string
  : T extends readonly (infer E)[]
    ? readonly Wire<E>[]
    : T extends object
      ? { readonly [K in keyof T]: Wire<T[K]> }
      : T;

/**
 * An object as it is on the wire: for one of @kubernetes/client-node's, whose times are `Date`s, or any that has
 * `undefined` in it.
 */
export function toWire<T extends object>(object: T): Wire<T> {
  // What JSON makes of a value is what the type says.
  return JSON.parse(JSON.stringify(object)) as Wire<T>;
}
