interface Waiter {
  readonly whose: ReadonlySet<string>;
  /** The turn in which it came. */
  readonly cameAt: number;
  readonly grant: () => void;
}

/**
 * Lets a limited number in at a time. Of those who wait he is next whose pod has waited longest since it came or was let in last, and of one
 * pod who came first: however many wait for one pod, another waits for one of them at most, and nobody for all who come after (C7).
 */
export class FairSemaphore {
  readonly #limit: number;
  readonly #waiting = new Set<Waiter>();
  /** The turn in which each pod was let in last, in that order; of those that it matters for. */
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
    const waiter: Waiter = { whose, cameAt: this.#turn, grant: resolve };
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
    let next: { readonly waiter: Waiter; readonly since: number } | undefined;
    for (const waiter of this.#waiting) {
      const since = Math.min(...Array.from(waiter.whose, (uid) => this.#waitsSince(uid, waiter)));
      if (next === undefined || since < next.since) next = { waiter, since };
    }
    return next?.waiter;
  }

  /** Counted in turns: who comes in one goes before the pod that was let in with it. */
  #waitsSince(uid: string, { cameAt }: Waiter): number {
    return Math.max(cameAt - 0.5, this.#servedAt.get(uid) ?? 0);
  }

  #served(whose: ReadonlySet<string>): void {
    // Who was let in before all came who wait is as good as new.
    const [first = { cameAt: Number.POSITIVE_INFINITY }] = this.#waiting;
    for (const [uid, turn] of this.#servedAt) {
      if (turn >= first.cameAt) break;
      this.#servedAt.delete(uid);
    }
    this.#turn += 1;
    for (const uid of whose) {
      this.#servedAt.delete(uid);
      this.#servedAt.set(uid, this.#turn);
    }
  }
}
