/**
 * Marks a class with a name that every copy and every version of its package shares: `instanceof` knows the classes of its
 * own copy alone. The mark is on the prototype, so that no instance shows it, and not in the type, so that the types of two
 * versions still fit each other. The class is named so too: bundlers rename one that speaks of itself, and errors show that name.
 * @param name the package and the class: `@node-agent/cri-client.CriError`
 */
export function brand(marked: { readonly prototype: object }, name: string): void {
  Object.defineProperty(marked.prototype, Symbol.for(name), { value: true });
  Object.defineProperty(marked, 'name', { value: name.slice(name.lastIndexOf('.') + 1), configurable: true });
}

/** Whether a value is of a class that {@link brand} has marked with this name. */
export function hasBrand(value: unknown, name: string): boolean {
  return typeof value === 'object' && value !== null && Symbol.for(name) in value;
}
