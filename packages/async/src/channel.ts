import { Receiver } from './receiver.ts';

/** Values in the order in which they were pushed, for one consumer. `push` never blocks and nothing is dropped. */
export class Channel<T> extends Receiver<T> {
  #values: T[] = [];
  #taken = 0;

  /** How many values wait for the consumer. */
  get size(): number {
    return this.#values.length - this.#taken;
  }

  /** @returns false where the channel is closed: the value is dropped then */
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
    // What was taken is let go of in batches: shifting an array one by one costs its length each time.
    if (this.#taken * 2 > this.#values.length) {
      this.#values = this.#values.slice(this.#taken);
      this.#taken = 0;
    }
    return { value: value as T };
  }
}
