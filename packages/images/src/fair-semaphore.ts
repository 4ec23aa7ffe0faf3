interface Waiter {
  readonly whose: ReadonlySet<string>;
  /** Turn in which the waiter arrived. */
  readonly cameAt: number;
  readonly grant: () => void;
}

/**
 * Limits how many tasks run at the same time. The next task belongs to the pod that has waited longest since its
 * arrival or its last turn; tasks of one pod run in order of arrival. However many tasks of one pod wait, a task of
 * another pod waits for at most one of them, and later arrivals cannot overtake indefinitely (C7).
 */
export class FairSemaphore {
  readonly #limit: number;
  readonly #waiting = new Set<Waiter>();
  /** Turn in which each pod was last served, oldest first; only for pods for which the order still matters. */
  readonly #servedAt = new Map<string, number>();
  #active = 0;
  #turn = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * Runs a task once a place is free.
   * @param whose UIDs of the pods that need the task; UIDs may be added during the wait
   * @throws the signal's reason if the signal is aborted before the task starts
   * @throws the error of the task
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
      // A waiter that was already granted a place is no longer in the set; the holder releases the place.
      if (this.#waiting.delete(waiter)) reject(signal.reason);
    };
    this.#waiting.add(waiter);
    signal.addEventListener('abort', onAbort, { once: true });
    await promise.finally(() => signal.removeEventListener('abort', onAbort));
  }

  /** Passes the place directly to the next waiter, so that a later caller cannot take it. */
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

  /**
   * Returns the turn since which a pod has waited: the arrival of the waiter, or the pod's last turn if that is later.
   * A task that arrives in a turn goes before the pod that was served in that turn.
   */
  #waitsSince(uid: string, { cameAt }: Waiter): number {
    return Math.max(cameAt - 0.5, this.#servedAt.get(uid) ?? 0);
  }

  #served(whose: ReadonlySet<string>): void {
    // Turns before the arrival of all current waiters no longer affect the order.
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
