/** What of the program runs, by name, so that what does not end can be told. */
export class Parts {
  readonly #names = new Set<string>();

  /** In the order in which they began. */
  get names(): readonly string[] {
    return [...this.#names];
  }

  /** A task that is a part for as long as it runs. */
  task(name: string, run: (signal: AbortSignal) => Promise<void>): (signal: AbortSignal) => Promise<void> {
    return async (signal) => {
      using _part = this.begin(name);
      await run(signal);
    };
  }

  /** A part until what is given is disposed of. */
  begin(name: string): Disposable {
    this.#names.add(name);
    return { [Symbol.dispose]: () => void this.#names.delete(name) };
  }
}
