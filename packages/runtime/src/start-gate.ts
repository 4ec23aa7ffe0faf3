import type { Clock, Timer } from '@node-agent/async';

/**
 * Who goes first where the runtime is busy.
 * - `begun`: a pod that has its sandbox, or whose container died. It needs one or two more calls to be ready.
 * - `new`: a pod that has nothing yet.
 *
 * So pods become ready one after another instead of all at the end, and a death is answered before new work. Restarts
 * cannot crowd new pods out: back-off limits them, and after some `begun` in a row a `new` one goes.
 */
export type StartPriority = 'begun' | 'new';

/** Options of a {@link StartGate}. */
export interface StartGateOptions {
  /** How many may be under way at once. */
  readonly concurrency: number;
  /** A place that is held longer no longer counts: a runtime that hangs on one pod delays no other (C7). 5 s by default. */
  readonly overdueMs?: number;
  /** How many `begun` may overtake a waiting `new` in a row; 16 by default. */
  readonly maxOvertakes?: number;
}

interface Waiter {
  readonly admit: () => void;
}

/**
 * Keeps the runtime busy but not flooded: only so many starts are under way at once, and each priority is served in
 * the order of arrival. There is no deadlock: a place is held over calls of the runtime only, never while waiting
 * for a pull, a hook or another place, and one that is held too long is lent to the next.
 */
export class StartGate {
  readonly #clock: Clock;
  readonly #concurrency: number;
  readonly #overdueMs: number;
  readonly #maxOvertakes: number;
  readonly #queues: Record<StartPriority, Waiter[]> = { begun: [], new: [] };
  #held = 0;
  #overtakes = 0;

  constructor({ clock }: { readonly clock: Clock }, options: StartGateOptions) {
    this.#clock = clock;
    this.#concurrency = Math.max(1, Math.floor(options.concurrency));
    this.#overdueMs = options.overdueMs ?? 5_000;
    this.#maxOvertakes = options.maxOvertakes ?? 16;
  }

  /** How many are waiting: for tests and for `explain`. */
  get waiting(): number {
    return this.#queues.begun.length + this.#queues.new.length;
  }

  /**
   * Runs `work` as soon as there is a place, and gives the place back when it settles.
   * @throws the signal's reason where it is aborted while waiting; afterwards the work sees the signal itself
   */
  async run<T>(priority: StartPriority, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#enter(priority, signal);
    let timer: Timer | undefined = this.#clock.setTimer(this.#overdueMs, () => {
      timer = undefined;
      this.#leave();
    });
    try {
      return await work();
    } finally {
      if (timer !== undefined) {
        timer.cancel();
        this.#leave();
      }
    }
  }

  async #enter(priority: StartPriority, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#held < this.#concurrency) {
      this.#held++;
      return;
    }
    const queue = this.#queues[priority];
    await new Promise<void>((resolve, reject) => {
      const onAbort = (): void => {
        queue.splice(queue.indexOf(waiter), 1);
        reject(signal.reason);
      };
      const waiter: Waiter = {
        admit: () => {
          signal.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      signal.addEventListener('abort', onAbort, { once: true });
      queue.push(waiter);
    });
  }

  #leave(): void {
    const next = this.#next();
    if (next === undefined) this.#held--;
    else next.admit();
  }

  #next(): Waiter | undefined {
    const { begun, new: fresh } = this.#queues;
    const freshFirst = begun.length === 0 || (fresh.length > 0 && this.#overtakes >= this.#maxOvertakes);
    if (freshFirst) {
      this.#overtakes = 0;
      return fresh.shift();
    }
    if (fresh.length > 0) this.#overtakes++;
    return begun.shift();
  }
}
