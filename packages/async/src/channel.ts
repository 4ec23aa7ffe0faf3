import { Receiver } from './receiver.ts';

/**
 * An unbounded queue of values for one consumer, in the order in which they were pushed. `push` never blocks, and no
 * value is dropped.
 */
export class Channel<T> extends Receiver<T> {
  #values: T[] = [];
  #taken = 0;

  /** Number of values that wait for the consumer. */
  get size(): number {
    return this.#values.length - this.#taken;
  }

  /** Adds a value at the end of the queue. @returns false if the channel is closed; the value is then dropped */
  push(value: T): boolean {
    if (this.closed) return false;
    this.#values.push(value);
    this.wake();
    return true;
  }

  protected override shift(): { readonly value: T } | undefined {
    const value = this.#values[this.#taken];
    if (this.#taken === this.#values.length) return undefined;
    this.#taken++;
    // Values that the consumer has already taken are removed in batches, because each shift of an array costs time
    // proportional to its length.
    if (this.#taken * 2 > this.#values.length) {
      this.#values = this.#values.slice(this.#taken);
      this.#taken = 0;
    }
    return { value: value as T };
  }
}
