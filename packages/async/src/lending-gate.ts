import { checkComponents, checkOptions } from './check-arguments.ts';
import { type Clock, systemClock, type Timer } from './clock.ts';

/** Priority of work at the gate: `urgent` work goes before `normal` work. */
export type GateTurn = 'urgent' | 'normal';

/** Options of a {@link LendingGate}. */
export interface LendingGateOptions {
  /** Largest number of tasks that run at the same time; at least 1. */
  readonly concurrency: number;
  /**
   * Time after which a running task no longer counts against the limit, in milliseconds, so that a task that hangs does
   * not delay others forever.
   */
  readonly overdueMs: number;
  /** Number of `urgent` tasks that may overtake waiting `normal` tasks in a row. Default: 16. */
  readonly maxOvertakes?: number;
}

interface Waiter {
  readonly admit: () => void;
}

/**
 * Limits how many tasks run at the same time. Urgent tasks go first but cannot starve normal tasks; each kind is served
 * in order of arrival. The place of a task that runs too long is lent to the next task. This avoids deadlocks, and no
 * task waits forever for a task that hangs.
 */
export class LendingGate {
  readonly #clock: Pick<Clock, 'setTimer'>;
  #concurrency: number;
  readonly #overdueMs: number;
  readonly #maxOvertakes: number;
  readonly #queues: Record<GateTurn, Waiter[]> = { urgent: [], normal: [] };
  #held = 0;
  #overtakes = 0;

  /**
   * @param components if `clock` is absent, the system clock is used
   * @throws OptionsError that names the invalid option
   */
  constructor(components: { readonly clock?: Pick<Clock, 'setTimer'> }, options: LendingGateOptions) {
    checkOptions('LendingGate', options, { concurrency: 'limit', overdueMs: 'positive', maxOvertakes: 'notNegative?' });
    checkComponents('LendingGate', components, {});
    this.#clock = components.clock ?? systemClock;
    this.#concurrency = options.concurrency;
    this.#overdueMs = options.overdueMs;
    this.#maxOvertakes = options.maxOvertakes ?? 16;
  }

  /** Number of tasks that wait for a place. */
  get waiting(): number {
    return this.#queues.urgent.length + this.#queues.normal.length;
  }

  /** Largest number of tasks that run at the same time. */
  get concurrency(): number {
    return this.#concurrency;
  }

  /**
   * Changes the limit. A higher limit starts waiting tasks at once; after a lower one, running tasks continue.
   * @param concurrency at least 1
   * @throws OptionsError for an invalid number
   */
  set concurrency(concurrency: number) {
    checkOptions('LendingGate', { concurrency }, { concurrency: 'limit' });
    this.#concurrency = concurrency;
    while (this.#held < concurrency) {
      const next = this.#next();
      if (next === undefined) return;
      this.#held++;
      next.admit();
    }
  }

  /**
   * Runs `work` as soon as a place is free, and releases the place when the work settles.
   * @throws the signal's reason if the signal is aborted during the wait; after the start, only the work observes the
   * signal
   */
  async run<T>(turn: GateTurn, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#enter(turn, signal);
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

  async #enter(turn: GateTurn, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#held < this.#concurrency) {
      this.#held++;
      return;
    }
    const queue = this.#queues[turn];
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
    const next = this.#held > this.#concurrency ? undefined : this.#next();
    if (next === undefined) this.#held--;
    else next.admit();
  }

  #next(): Waiter | undefined {
    const { urgent, normal } = this.#queues;
    const normalFirst = urgent.length === 0 || (normal.length > 0 && this.#overtakes >= this.#maxOvertakes);
    if (normalFirst) {
      this.#overtakes = 0;
      return normal.shift();
    }
    if (normal.length > 0) this.#overtakes++;
    return urgent.shift();
  }
}
