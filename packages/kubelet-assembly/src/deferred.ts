/**
 * A value that one part needs and a later stage of the assembly makes. Reading the value before it is set is a fault of the
 * assembly, so `value` throws instead of answering with a default.
 */
export class Deferred<T> {
  readonly #name: string;
  #value: { readonly is: T } | undefined;

  /** @param name the part that will be set, for the error message */
  constructor(name: string) {
    this.#name = name;
  }

  /** @throws Error if the value was not set yet */
  get value(): T {
    if (this.#value === undefined) throw new Error(`${this.#name}: used before assembled`);
    return this.#value.is;
  }

  /** @throws Error if the value was set before */
  set(value: T): T {
    if (this.#value !== undefined) throw new Error(`${this.#name}: assembled twice`);
    this.#value = { is: value };
    return value;
  }
}
