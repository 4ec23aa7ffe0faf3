import { checkComponents, checkOptions } from './check-arguments.ts';
import { type Clock, systemClock, type Timer } from './clock.ts';

/** Whether work goes before all that is not `urgent`. */
export type GateTurn = 'urgent' | 'normal';

/** Options of a {@link LendingGate}. */
export interface LendingGateOptions {
  /** How much work may be under way at once; at least 1. */
  readonly concurrency: number;
  /** A place that is held longer no longer counts: work that hangs delays no other. */
  readonly overdueMs: number;
  /** How much `urgent` work may overtake waiting `normal` work in a row; 16 by default. */
  readonly maxOvertakes?: number;
}

interface Waiter {
  readonly admit: () => void;
}

/**
 * Keeps something busy, but not flooded: only so much work is under way at once. Urgent work goes first, but crowds nothing
 * out, and each kind is served in the order of arrival. A place that is held too long is lent to the next, so that there is no
 * deadlock, and no work waits for ever for work that hangs.
 */
export class LendingGate {
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #concurrency: number;
  readonly #overdueMs: number;
  readonly #maxOvertakes: number;
  readonly #queues: Record<GateTurn, Waiter[]> = { urgent: [], normal: [] };
  #held = 0;
  #overtakes = 0;

  /** @param components the machine's clock where absent @throws OptionsError naming the option that is wrong */
  constructor(components: { readonly clock?: Pick<Clock, 'setTimer'> }, options: LendingGateOptions) {
    checkOptions('LendingGate', options, { concurrency: 'limit', overdueMs: 'positive', maxOvertakes: 'notNegative?' });
    checkComponents('LendingGate', components, {});
    this.#clock = components.clock ?? systemClock;
    this.#concurrency = options.concurrency;
    this.#overdueMs = options.overdueMs;
    this.#maxOvertakes = options.maxOvertakes ?? 16;
  }

  /** How many are waiting: for tests and for `explain`. */
  get waiting(): number {
    return this.#queues.urgent.length + this.#queues.normal.length;
  }

  /**
   * Runs `work` as soon as there is a place, and gives the place back when it settles.
   * @throws the signal's reason where it is aborted while waiting; afterwards the work sees the signal itself
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
    const next = this.#next();
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
