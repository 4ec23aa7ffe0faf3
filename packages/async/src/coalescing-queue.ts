import { Receiver } from './receiver.ts';

/**
 * A queue with at most one value per key, for one consumer. A value that arrives while another value of its key waits
 * is merged with it. Keys are yielded in the order of their first arrival, so that a busy key does not delay others.
 * `push` never blocks, and the size is bounded by the number of keys. Information is lost only if `merge` drops it.
 */
export class CoalescingQueue<K, V> extends Receiver<readonly [key: K, value: V]> {
  readonly #merge: (waiting: V, next: V) => V;
  readonly #values = new Map<K, V>();
  /** Iterator positioned after the last key taken. A new iterator would step over all keys that were taken before. */
  #rest: MapIterator<[K, V]> = this.#values.entries();

  /** @param merge merges two values of the same key. Default: the newer value replaces the older. */
  constructor(merge: (waiting: V, next: V) => V = (_, next) => next) {
    super();
    this.#merge = merge;
  }

  /** Number of keys that wait for the consumer. */
  get size(): number {
    return this.#values.size;
  }

  /** @returns false if the queue is closed; the value is then dropped */
  push(key: K, value: V): boolean {
    if (this.closed) return false;
    // Setting an existing key keeps its position in the map.
    const waiting = this.#values.get(key);
    const merged = this.#values.has(key) ? this.#merge(waiting as V, value) : value;
    this.#values.set(key, merged);
    this.wake();
    return true;
  }

  /** Returns the value that waits for the consumer under this key. */
  peek(key: K): V | undefined {
    return this.#values.get(key);
  }

  /** Removes the key without yielding it. @returns whether the key was in the queue */
  delete(key: K): boolean {
    return this.#values.delete(key);
  }

  protected override shift(): { readonly value: readonly [K, V] } | undefined {
    let next = this.#rest.next();
    if (next.done) {
      this.#rest = this.#values.entries();
      next = this.#rest.next();
    }
    if (next.done) return undefined;
    this.#values.delete(next.value[0]);
    return { value: next.value };
  }
}
