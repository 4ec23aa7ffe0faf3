/**
 * A value that one component needs and a later stage of the assembly creates. Reading the value too early is an error
 * in the assembly, so `value` throws instead of returning a default.
 */
export class Deferred<T> {
  readonly #name: string;
  #value: { readonly is: T } | undefined;

  /** @param name name of the component that the value stands for, used in error messages */
  constructor(name: string) {
    this.#name = name;
  }

  /** The value. @throws Error if the value is not set yet */
  get value(): T {
    if (this.#value === undefined) throw new Error(`${this.#name}: used before assembled`);
    return this.#value.is;
  }

  /** Sets the value and returns it. @throws Error if the value was already set */
  set(value: T): T {
    if (this.#value !== undefined) throw new Error(`${this.#name}: assembled twice`);
    this.#value = { is: value };
    return value;
  }
}
