import { linkAbort } from './abort.ts';

/**
 * Long-running tasks that live and end together: each runs until the group's signal is aborted, and the first that fails
 * ends the others. One that ends without an error leaves the others alone.
 */
export class TaskGroup {
  readonly #link: ReturnType<typeof linkAbort>;
  readonly #tasks = new Set<Promise<void>>();
  #failure: { readonly error: unknown } | undefined;

  /** @param parent ends all tasks */
  constructor(parent: AbortSignal) {
    this.#link = linkAbort(parent);
  }

  /** Aborted when the parent is, and when a task has failed. */
  get signal(): AbortSignal {
    return this.#link.signal;
  }

  /** Starts a task. What it throws once it is aborted is no failure. */
  add(task: (signal: AbortSignal) => Promise<void>): void {
    const running = this.#run(task).finally(() => this.#tasks.delete(running));
    this.#tasks.add(running);
  }

  /** Waits for all tasks, those that were added meanwhile too. @throws what the first task that failed threw */
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
