import type { Clock, Timer } from '@node-agent/async';

interface Entry<T> {
  readonly item: T;
  readonly dueMs: number;
  readonly order: number;
}

/**
 * Items that are due at instants of the monotonic clock, with one timer for all of them. An item is due once; what is due at the same
 * instant comes in the order in which it was set.
 */
export class Timetable<T> {
  readonly #clock: Clock;
  readonly #onDue: (item: T) => void;
  /** A binary heap by due time; entries that were replaced stay in it until they come up. */
  readonly #heap: Entry<T>[] = [];
  readonly #entries = new Map<T, Entry<T>>();
  #order = 0;
  #timer: { readonly timer: Timer; readonly dueMs: number } | undefined;

  /** @param onDue must not throw */
  constructor(clock: Clock, onDue: (item: T) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** How many items wait. */
  get size(): number {
    return this.#entries.size;
  }

  /** When an item is due; `undefined` where it does not wait. */
  dueMs(item: T): number | undefined {
    return this.#entries.get(item)?.dueMs;
  }

  /** Sets when an item is due, in place of what was set before. */
  set(item: T, dueMs: number): void {
    const entry = { item, dueMs, order: this.#order++ };
    this.#entries.set(item, entry);
    this.#push(entry);
    this.#compact();
    this.#arm();
  }

  delete(item: T): void {
    this.#entries.delete(item);
    this.#compact();
    this.#arm();
  }

  clear(): void {
    this.#entries.clear();
    this.#heap.length = 0;
    this.#arm();
  }

  #arm(): void {
    const first = this.#first();
    if (first?.dueMs === this.#timer?.dueMs) return;
    this.#timer?.timer.cancel();
    this.#timer = undefined;
    if (first === undefined) return;
    const { dueMs } = first;
    const timer = this.#clock.setTimer(dueMs - this.#clock.monotonic(), () => {
      this.#timer = undefined;
      this.#run();
    });
    this.#timer = { timer, dueMs };
  }

  #run(): void {
    const nowMs = this.#clock.monotonic();
    const due: T[] = [];
    for (let first = this.#first(); first !== undefined && first.dueMs <= nowMs; first = this.#first()) {
      this.#pop();
      this.#entries.delete(first.item);
      due.push(first.item);
    }
    for (const item of due) this.#onDue(item);
    this.#arm();
  }

  /** The entry that is due next, once those that were replaced are gone. */
  #first(): Entry<T> | undefined {
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      if (this.#entries.get(first.item) === first) return first;
      this.#pop();
    }
    return undefined;
  }

  /** Keeps entries that were replaced from outnumbering those that count (K4). */
  #compact(): void {
    if (this.#heap.length <= 2 * this.#entries.size + 64) return;
    this.#heap.length = 0;
    for (const entry of this.#entries.values()) this.#push(entry);
  }

  #push(entry: Entry<T>): void {
    const heap = this.#heap;
    let index = heap.length;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent] as Entry<T>;
      if (!before(entry, above)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      const right = heap[child + 1];
      if (right !== undefined && before(right, heap[child] as Entry<T>)) child++;
      if (!before(heap[child] as Entry<T>, last)) break;
      heap[index] = heap[child] as Entry<T>;
      index = child;
    }
    heap[index] = last;
  }
}

function before<T>(a: Entry<T>, b: Entry<T>): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
}
