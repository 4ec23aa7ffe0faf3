/** Names of the program's running parts, used to log the parts that do not stop in time. */
export class Parts {
  readonly #names = new Set<string>();

  /** Names of the running parts, in the order in which they were started. */
  get names(): readonly string[] {
    return [...this.#names];
  }

  /** Wraps a task so that its name is listed while the task runs. */
  task(name: string, run: (signal: AbortSignal) => Promise<void>): (signal: AbortSignal) => Promise<void> {
    return async (signal) => {
      using _part = this.begin(name);
      await run(signal);
    };
  }

  /** Lists a part until the returned object is disposed. */
  begin(name: string): Disposable {
    this.#names.add(name);
    return { [Symbol.dispose]: () => void this.#names.delete(name) };
  }
}
