import { Receiver } from './receiver.ts';

/**
 * At most one value per key, for one consumer: a value that comes while another of its key waits is merged with it.
 * Keys come out in the order of their first arrival, so that a busy one holds back no other. `push` never blocks,
 * nothing is lost that `merge` keeps, and the size is bounded by the number of keys.
 */
export class CoalescingQueue<K, V> extends Receiver<readonly [key: K, value: V]> {
  readonly #merge: (waiting: V, next: V) => V;
  readonly #values = new Map<K, V>();
  /** Stands behind the key that was taken last: a new iterator would walk over all that were taken before it. */
  #rest: MapIterator<[K, V]> = this.#values.entries();

  /** @param merge what becomes of two values of one key; the newer one alone where absent */
  constructor(merge: (waiting: V, next: V) => V = (_, next) => next) {
    super();
    this.#merge = merge;
  }

  /** How many keys wait for the consumer. */
  get size(): number {
    return this.#values.size;
  }

  /** @returns false where the queue is closed: the value is dropped then */
  push(key: K, value: V): boolean {
    if (this.closed) return false;
    // Setting a key that is there keeps its place in the map.
    const waiting = this.#values.get(key);
    const merged = this.#values.has(key) ? this.#merge(waiting as V, value) : value;
    this.#values.set(key, merged);
    this.wake();
    return true;
  }

  /** The value that waits for the consumer under this key. */
  peek(key: K): V | undefined {
    return this.#values.get(key);
  }

  /** Takes the key out unseen. @returns whether it was there */
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
