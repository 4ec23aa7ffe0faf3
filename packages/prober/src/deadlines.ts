import type { Clock, Timer } from '@node-agent/async';

interface List<T> {
  /** When each is due, in the order in which they were set, which is that order, too. */
  readonly dueMs: Map<T, number>;
  timer: Timer;
}

/**
 * Ends what takes too long. What is given the same time shares a timer: probes come together, and nearly all of them end long before it is up.
 */
export class Deadlines<T> {
  readonly #clock: Pick<Clock, 'monotonic' | 'setTimer'>;
  readonly #onDue: (item: T) => void;
  readonly #lists = new Map<number, List<T>>();

  /** @param onDue must not throw */
  constructor(clock: Pick<Clock, 'monotonic' | 'setTimer'>, onDue: (item: T) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** The item, which is not there by now, is due so long after `nowMs`. */
  set(item: T, timeoutMs: number, nowMs: number): void {
    const list = this.#lists.get(timeoutMs);
    if (list !== undefined) list.dueMs.set(item, nowMs + timeoutMs);
    else {
      const dueMs = new Map([[item, nowMs + timeoutMs]]);
      this.#lists.set(timeoutMs, { dueMs, timer: this.#timer(timeoutMs, timeoutMs) });
    }
  }

  /** The item is due no more. @param timeoutMs as it was set */
  delete(item: T, timeoutMs: number): void {
    const list = this.#lists.get(timeoutMs);
    if (list?.dueMs.delete(item) && list.dueMs.size === 0) {
      list.timer.cancel();
      this.#lists.delete(timeoutMs);
    }
  }

  #timer(timeoutMs: number, delayMs: number): Timer {
    return this.#clock.setTimer(delayMs, () => this.#run(timeoutMs));
  }

  #run(timeoutMs: number): void {
    const list = this.#lists.get(timeoutMs);
    if (list === undefined) return;
    const nowMs = this.#clock.monotonic();
    // A timer may be a little early or late: what it was set for is due.
    const [first] = list.dueMs.values();
    const due = [...list.dueMs].filter(([, dueMs]) => dueMs <= nowMs || dueMs === first).map(([item]) => item);
    for (const item of due) list.dueMs.delete(item);
    const [next] = list.dueMs.values();
    if (next === undefined) this.#lists.delete(timeoutMs);
    else list.timer = this.#timer(timeoutMs, next - nowMs);
    for (const item of due) this.#onDue(item);
  }
}
