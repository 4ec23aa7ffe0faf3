import type { Clock, Timer } from '@node-agent/async';

/** Items that are due at the same instant, in the order in which they were set. */
interface Slot<T> {
  readonly dueMs: number;
  readonly items: Set<T>;
}

/**
 * Schedules items at instants of the monotonic clock, with one timer for all of them. Each item is called once, at its
 * due time. Items due at the same instant, which is the usual case, are called in the order in which they were set.
 */
export class Timetable<T> {
  readonly #clock: Clock;
  readonly #onDue: (item: T) => void;
  /** Binary heap by due time. Empty slots stay in the heap until they reach the top. */
  readonly #heap: Slot<T>[] = [];
  /** Slots with items, by due time. */
  readonly #slots = new Map<number, Slot<T>>();
  readonly #slotOf = new Map<T, Slot<T>>();
  #timer: { readonly timer: Timer; readonly dueMs: number } | undefined;

  /** @param onDue must not throw */
  constructor(clock: Clock, onDue: (item: T) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** Number of scheduled items. */
  get size(): number {
    return this.#slotOf.size;
  }

  /** Returns when an item is due; `undefined` if it is not scheduled. */
  dueMs(item: T): number | undefined {
    return this.#slotOf.get(item)?.dueMs;
  }

  /** Schedules an item, replacing its previous due time. */
  set(item: T, dueMs: number): void {
    this.#take(item);
    let slot = this.#slots.get(dueMs);
    if (slot === undefined) {
      slot = { dueMs, items: new Set() };
      this.#slots.set(dueMs, slot);
      this.#push(slot);
    }
    slot.items.add(item);
    this.#slotOf.set(item, slot);
    this.#compact();
    this.#arm();
  }

  delete(item: T): void {
    this.#take(item);
    this.#compact();
    this.#arm();
  }

  clear(): void {
    this.#slotOf.clear();
    this.#slots.clear();
    this.#heap.length = 0;
    this.#arm();
  }

  #take(item: T): void {
    const slot = this.#slotOf.get(item);
    if (slot === undefined) return;
    this.#slotOf.delete(item);
    slot.items.delete(item);
    if (slot.items.size === 0) this.#slots.delete(slot.dueMs);
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
      this.#slots.delete(first.dueMs);
      for (const item of first.items) {
        this.#slotOf.delete(item);
        due.push(item);
      }
    }
    for (const item of due) this.#onDue(item);
    this.#arm();
  }

  /** Returns the next slot, after removing empty slots from the top of the heap. */
  #first(): Slot<T> | undefined {
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      if (first.items.size > 0) return first;
      this.#pop();
    }
    return undefined;
  }

  /** Keeps empty slots from outnumbering the others (K4). */
  #compact(): void {
    if (this.#heap.length <= 2 * this.#slots.size + 64) return;
    this.#heap.length = 0;
    for (const slot of this.#slots.values()) this.#push(slot);
  }

  #push(slot: Slot<T>): void {
    const heap = this.#heap;
    let index = heap.length;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent] as Slot<T>;
      if (slot.dueMs >= above.dueMs) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = slot;
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
      if (right !== undefined && right.dueMs < (heap[child] as Slot<T>).dueMs) child++;
      if ((heap[child] as Slot<T>).dueMs >= last.dueMs) break;
      heap[index] = heap[child] as Slot<T>;
      index = child;
    }
    heap[index] = last;
  }
}
