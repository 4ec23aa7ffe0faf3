import type { Clock, Timer } from '@node-agent/async';

interface List<T> {
  /** Due time of each item, in insertion order, which is also the order of the due times. */
  readonly dueMs: Map<T, number>;
  timer: Timer;
}

/**
 * Calls back for items that take too long. Items with the same timeout share one timer: many probes start at the same
 * time, and nearly all end long before their timeout.
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

  /** Makes an item, which must not be set already, due `timeoutMs` after `nowMs`. */
  set(item: T, timeoutMs: number, nowMs: number): void {
    const list = this.#lists.get(timeoutMs);
    if (list !== undefined) list.dueMs.set(item, nowMs + timeoutMs);
    else {
      const dueMs = new Map([[item, nowMs + timeoutMs]]);
      this.#lists.set(timeoutMs, { dueMs, timer: this.#timer(timeoutMs, timeoutMs) });
    }
  }

  /**
   * Removes an item.
   * @param timeoutMs timeout with which the item was set
   */
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
    // A timer may fire slightly early or late, so the first item is always due.
    const [first] = list.dueMs.values();
    const due = [...list.dueMs].filter(([, dueMs]) => dueMs <= nowMs || dueMs === first).map(([item]) => item);
    for (const item of due) list.dueMs.delete(item);
    const [next] = list.dueMs.values();
    if (next === undefined) this.#lists.delete(timeoutMs);
    else list.timer = this.#timer(timeoutMs, next - nowMs);
    for (const item of due) this.#onDue(item);
  }
}
