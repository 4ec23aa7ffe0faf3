/** A key with its due time, its insertion order and its index in the heap. */
interface DueKey<K> {
  readonly key: K;
  readonly dueMs: number;
  readonly order: number;
  index: number;
}

/**
 * Keys ordered by due time; keys due at the same time are ordered by insertion. A binary heap with an index: adding,
 * moving or removing one of n keys takes about log2(n) comparisons.
 */
export class DueHeap<K> {
  readonly #heap: DueKey<K>[] = [];
  readonly #byKey = new Map<K, DueKey<K>>();
  readonly #onCompare: () => void;
  #order = 0;

  /** @param onCompare called for each comparison of two keys */
  constructor(onCompare: () => void = () => {}) {
    this.#onCompare = onCompare;
  }

  get size(): number {
    return this.#heap.length;
  }

  dueMs(key: K): number | undefined {
    return this.#byKey.get(key)?.dueMs;
  }

  /** Returns the earliest key, or `undefined` if the heap is empty. */
  first(): { readonly key: K; readonly dueMs: number } | undefined {
    return this.#heap[0];
  }

  /** Adds or moves the key. A moved key keeps its insertion order relative to keys with the same due time. */
  set(key: K, dueMs: number): void {
    const known = this.#byKey.get(key);
    const entry: DueKey<K> = {
      ...{ key, dueMs, order: known?.order ?? this.#order++ },
      index: known?.index ?? this.#heap.length,
    };
    this.#byKey.set(key, entry);
    this.#heap[entry.index] = entry;
    this.#settle(entry);
  }

  /** Removes the key. @returns whether the key was in the heap */
  delete(key: K): boolean {
    const entry = this.#byKey.get(key);
    if (entry === undefined) return false;
    this.#byKey.delete(key);
    const last = this.#heap.pop();
    if (last === undefined || last === entry) return true;
    last.index = entry.index;
    this.#heap[last.index] = last;
    this.#settle(last);
    return true;
  }

  /** Removes the keys that are not yet due at `nowMs`. */
  dropAfter(nowMs: number): void {
    for (const { key, dueMs } of [...this.#heap]) if (dueMs > nowMs) this.delete(key);
  }

  /** Moves an entry up or down to its place. */
  #settle(entry: DueKey<K>): void {
    for (let parent = this.#parent(entry); parent !== undefined && this.#isBefore(entry, parent); ) {
      this.#swap(entry, parent);
      parent = this.#parent(entry);
    }
    for (let child = this.#firstChild(entry); child !== undefined && this.#isBefore(child, entry); ) {
      this.#swap(entry, child);
      child = this.#firstChild(entry);
    }
  }

  #parent({ index }: DueKey<K>): DueKey<K> | undefined {
    return index === 0 ? undefined : this.#heap[(index - 1) >> 1];
  }

  #firstChild({ index }: DueKey<K>): DueKey<K> | undefined {
    const left = this.#heap[2 * index + 1];
    const right = this.#heap[2 * index + 2];
    return left !== undefined && right !== undefined && this.#isBefore(right, left) ? right : left;
  }

  #swap(a: DueKey<K>, b: DueKey<K>): void {
    [a.index, b.index] = [b.index, a.index];
    this.#heap[a.index] = a;
    this.#heap[b.index] = b;
  }

  #isBefore(a: DueKey<K>, b: DueKey<K>): boolean {
    this.#onCompare();
    return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
  }
}
