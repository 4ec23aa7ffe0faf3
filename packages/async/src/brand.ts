/**
 * Marks a class with a name that all copies and versions of its package share, because `instanceof` recognizes only the
 * classes of its own copy. The mark is on the prototype, so printed instances do not show it. The mark is not part of
 * the type, so the types of two versions stay compatible. The function also sets the class's `name`: bundlers rename a
 * class that refers to itself, and error output shows the class name.
 * @param name package and class: `@node-agent/cri-client.CriError`
 */
export function brand(marked: { readonly prototype: object }, name: string): void {
  Object.defineProperty(marked.prototype, Symbol.for(name), { value: true });
  Object.defineProperty(marked, 'name', { value: name.slice(name.lastIndexOf('.') + 1), configurable: true });
}

/** Reports whether the class of a value was marked with this name by {@link brand}. */
export function hasBrand(value: unknown, name: string): boolean {
  return typeof value === 'object' && value !== null && Symbol.for(name) in value;
}
