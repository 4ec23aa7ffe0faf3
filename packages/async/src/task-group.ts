import { linkAbort } from './abort.ts';

/**
 * Long-running tasks that are stopped together. Each task runs until the group's signal is aborted. The first task that
 * fails aborts the signal. A task that ends without an error does not affect the other tasks.
 */
export class TaskGroup {
  readonly #link: ReturnType<typeof linkAbort>;
  readonly #tasks = new Set<Promise<void>>();
  #failure: { readonly error: unknown } | undefined;

  /** @param parent stops all tasks when it is aborted */
  constructor(parent: AbortSignal) {
    this.#link = linkAbort(parent);
  }

  /** Signal of all tasks, which is aborted when the parent is aborted or a task fails. */
  get signal(): AbortSignal {
    return this.#link.signal;
  }

  /** Starts a task. An error that the task throws after the signal was aborted does not count as a failure. */
  add(task: (signal: AbortSignal) => Promise<void>): void {
    const running = this.#run(task).finally(() => this.#tasks.delete(running));
    this.#tasks.add(running);
  }

  /** Waits for all tasks, including tasks added during the wait. @throws the error of the first task that failed */
  async ended(): Promise<void> {
    while (this.#tasks.size > 0) await Promise.all(this.#tasks);
    this.#link[Symbol.dispose]();
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  async #run(task: (signal: AbortSignal) => Promise<void>): Promise<void> {
    try {
      await task(this.signal);
    } catch (error) {
      if (this.signal.aborted) return;
      this.#failure = { error };
      this.#link.abort(error);
    }
  }
}
