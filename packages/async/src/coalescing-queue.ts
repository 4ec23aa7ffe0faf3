import { Receiver } from './receiver.ts';

/**
 * A queue with at most one value per key, for one consumer. A new value is merged with the waiting value of the same
 * key, if there is one. Keys are yielded in the order of their first arrival, so that a busy key does not delay other
 * keys. `push` never blocks, and the size is bounded by the number of keys. Information is lost only if `merge` drops
 * it.
 */
export class CoalescingQueue<K, V> extends Receiver<readonly [key: K, value: V]> {
  readonly #merge: (waiting: V, next: V) => V;
  readonly #values = new Map<K, V>();
  /**
   * Iterator that is positioned after the key that the consumer took last. A new iterator would be slow, because it
   * steps over all keys that were taken before.
   */
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

  /**
   * Adds a value, or merges it with the waiting value of its key. @returns false if the queue is closed; the value is
   * then dropped
   */
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
