interface Waiter {
  readonly whose: ReadonlySet<string>;
  readonly grant: () => void;
}

/**
 * Lets a limited number in at a time. Of those who wait he is next whose pod was let in longest ago, and of one pod who came first: however
 * many wait for one pod, another waits for one of them at most (C7).
 */
export class FairSemaphore {
  readonly #limit: number;
  readonly #waiting = new Set<Waiter>();
  /** When each pod was let in last, counted in turns; of those that may have to wait. */
  readonly #servedAt = new Map<string, number>();
  #active = 0;
  #turn = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * Runs a task once it is let in.
   * @param whose the UIDs of the pods that it is for; some may be added while it waits
   * @throws the signal's reason, where it is aborted before; what the task throws
   */
  async run<T>(whose: ReadonlySet<string>, task: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#enter(whose, signal);
    try {
      signal.throwIfAborted();
      return await task();
    } finally {
      this.#leave();
    }
  }

  async #enter(whose: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#active < this.#limit) {
      this.#active += 1;
      this.#served(whose);
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = { whose, grant: resolve };
    const onAbort = (): void => {
      // Where it was let in already, its place is given back by who has it.
      if (this.#waiting.delete(waiter)) reject(signal.reason);
    };
    this.#waiting.add(waiter);
    signal.addEventListener('abort', onAbort, { once: true });
    await promise.finally(() => signal.removeEventListener('abort', onAbort));
  }

  /** The place goes to the next in turn; nobody who comes in between can take it. */
  #leave(): void {
    const next = this.#next();
    if (next === undefined) {
      this.#active -= 1;
      return;
    }
    this.#waiting.delete(next);
    this.#served(next.whose);
    next.grant();
  }

  #next(): Waiter | undefined {
    let next: { readonly waiter: Waiter; readonly servedAt: number } | undefined;
    for (const waiter of this.#waiting) {
      const servedAt = Math.min(...Array.from(waiter.whose, (uid) => this.#servedAt.get(uid) ?? 0));
      if (next === undefined || servedAt < next.servedAt) next = { waiter, servedAt };
    }
    return next?.waiter;
  }

  #served(whose: ReadonlySet<string>): void {
    // Where nobody waits, nobody was let in before his turn.
    if (this.#waiting.size === 0) this.#servedAt.clear();
    this.#turn += 1;
    for (const uid of whose) this.#servedAt.set(uid, this.#turn);
  }
}
